"""How the well-known kinds of secrets look. Data for the secrets gate, the firewall and the redaction of events.

Each kind has anchors, plain pieces of text of which one must be present: looking for those first makes the common case
(no secret at all) cost a few substring searches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Format(NamedTuple):
    """One kind of secret. Group 1 of the pattern, where there is one, is the secret itself."""

    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]


# No letter or digit may touch a token on either side, or parts of longer words would match.
_START, _END = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9_])"


def _token(kind: str, body: str, *anchors: str) -> Format:
    return Format(kind, anchors, re.compile(f"{_START}(?:{body}){_END}"))


def _free(kind: str, pattern: str, *anchors: str) -> Format:
    return Format(kind, anchors, re.compile(pattern))


_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

FORMATS: tuple[Format, ...] = (
    _free(
        "private-key",
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:[^-]{0,16384}-----END [A-Z0-9 ]{0,40}-----)?",
        "PRIVATE KEY",
    ),
    _token("aws-access-key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}", "AKIA", "ASIA", "ABIA", "ACCA"),
    _free(
        "aws-secret-key",
        r"(?i)aws_?(?:secret)?_?(?:access)?_?key[\"']?\s{0,4}[:=]\s{0,4}[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        "aws",
        "AWS",
    ),
    _token("github-token", r"gh[pousr]_[A-Za-z0-9]{36,255}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _token("github-fine-grained-token", r"github_pat_[A-Za-z0-9_]{50,255}", "github_pat_"),
    _token(
        "gitlab-token",
        r"gl(?:pat|ptt|dt|rt|cbt|soat|imt|ft|agent)-[A-Za-z0-9_\-]{20,64}",
        *("glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-", "glimt-", "glft-", "glagent-"),
    ),
    _token("slack-token", r"xox[abeoprs]-[A-Za-z0-9-]{10,250}", "xox"),
    _token("slack-app-token", r"xapp-\d-[A-Z0-9]{6,20}-\d{6,20}-[A-Za-z0-9]{20,120}", "xapp-"),
    _free(
        "slack-webhook", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9_/]{20,120}", "hooks.slack.com"
    ),
    _token(
        "stripe-key", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,250}", "sk_live_", "sk_test_", "rk_live_", "rk_test_"
    ),
    _token("webhook-signing-secret", r"whsec_[A-Za-z0-9+/=]{24,120}", "whsec_"),
    _token("google-api-key", r"AIza[A-Za-z0-9_\-]{35}", "AIza"),
    _token("google-oauth-token", r"ya29\.[A-Za-z0-9_\-]{20,500}", "ya29."),
    _token("google-oauth-secret", r"GOCSPX-[A-Za-z0-9_\-]{24,32}", "GOCSPX-"),
    _token("anthropic-key", r"sk-ant-[A-Za-z0-9_\-]{20,200}", "sk-ant-"),
    _token("openai-key", r"sk-(?:proj-|svcacct-|admin-)[A-Za-z0-9_\-]{20,250}", "sk-proj-", "sk-svcacct-", "sk-admin-"),
    _token("openai-key-old", r"sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|sk-[A-Za-z0-9]{40,64}", "sk-"),
    _token("openrouter-key", r"sk-or-v1-[0-9a-f]{64}", "sk-or-"),
    _token("huggingface-token", r"(?:hf|api_org)_[A-Za-z0-9]{30,64}", "hf_", "api_org_"),
    _token("groq-key", r"gsk_[A-Za-z0-9]{40,80}", "gsk_"),
    _token("replicate-token", r"r8_[A-Za-z0-9]{37,40}", "r8_"),
    _token("perplexity-key", r"pplx-[A-Za-z0-9]{40,64}", "pplx-"),
    _token("xai-key", r"xai-[A-Za-z0-9]{70,90}", "xai-"),
    _token("npm-token", r"npm_[A-Za-z0-9]{36}", "npm_"),
    _token("pypi-token", r"pypi-AgE[A-Za-z0-9_\-]{50,500}", "pypi-AgE"),
    _token("rubygems-key", r"rubygems_[0-9a-f]{48}", "rubygems_"),
    _token("crates-token", r"cio[A-Za-z0-9]{32}", "cio"),
    _token("nuget-key", r"oy2[a-z0-9]{43}", "oy2"),
    _token("docker-hub-token", r"dckr_(?:pat|oat)_[A-Za-z0-9_\-]{27,40}", "dckr_"),
    _token("sendgrid-key", r"SG\.[A-Za-z0-9_\-]{20,24}\.[A-Za-z0-9_\-]{39,50}", "SG."),
    _token("mailgun-key", r"key-[0-9a-f]{32}", "key-"),
    _token("mailchimp-key", r"[0-9a-f]{32}-us\d{1,2}", "-us"),
    _token("sendinblue-key", r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}", "xkeysib-"),
    _token("resend-key", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}", "re_"),
    _token("twilio-key", r"SK[0-9a-f]{32}", "SK"),
    _token("telegram-bot-token", r"\d{8,10}:AA[A-Za-z0-9_\-]{33}", ":AA"),
    _token("discord-bot-token", r"[MNO][A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,40}", "."),
    _free(
        "discord-webhook",
        r"https://(?:ptb\.|canary\.)?discord(?:app)?\.com/api/webhooks/\d{15,20}/[A-Za-z0-9_\-]{40,100}",
        "/api/webhooks/",
    ),
    _free(
        "teams-webhook",
        r"https://[a-z0-9-]{1,60}\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/\-]{40,250}",
        "webhook.office.com",
    ),
    _token("shopify-token", r"shp(?:at|ca|pa|ss|tka|ua)_[0-9a-fA-F]{32}", "shp"),
    _token("square-token", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_\-]{22,43}|EAAA[A-Za-z0-9_\-]{60}", "sq0", "EAAA"),
    _token("facebook-token", r"EAA(?:CE|B)[A-Za-z0-9]{30,250}", "EAAC", "EAAB"),
    _free("braintree-token", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}", "access_token$"),
    _token("digitalocean-token", r"do[opr]_v1_[0-9a-f]{64}", "_v1_"),
    _token("heroku-key", r"HRKU-[A-Za-z0-9_\-]{36,80}", "HRKU-"),
    _free("azure-storage-key", r"AccountKey=([A-Za-z0-9+/]{86}==)", "AccountKey="),
    _free("azure-shared-access-key", r"SharedAccessKey=([A-Za-z0-9+/]{42,44}=)", "SharedAccessKey="),
    _free("azure-sas", r"[?&]sig=([A-Za-z0-9%+/]{43,60}(?:%3D|=))", "sig="),
    _token("azure-client-secret", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.\-]{31,34}", "Q~"),
    _free(
        "jwt",
        r"(?<![A-Za-z0-9_\-])eyJ[A-Za-z0-9_\-]{10,2000}\.eyJ[A-Za-z0-9_\-]{10,4000}\.[A-Za-z0-9_\-]{20,1000}",
        "eyJ",
    ),
    _free(
        "url-with-password",
        r"\b[a-z][a-z0-9+.\-]{1,20}://[^\s:/@\"'<>{}$]{1,64}:([^\s:/@\"'<>{}$%*]{3,128})@[A-Za-z0-9\[]",
        "://",
    ),
    _free(
        "authorization-header",
        r"(?i:authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)\s{1,3})([A-Za-z0-9._~+/=\-]{16,2000})",
        "uthorization",
        "UTHORIZATION",
    ),
    _token("atlassian-token", r"ATATT3[A-Za-z0-9_\-=]{60,250}|ATCTT3[A-Za-z0-9_\-=]{60,250}", "ATATT3", "ATCTT3"),
    _token("bitbucket-token", r"ATBB[A-Za-z0-9]{32}", "ATBB"),
    _token("linear-key", r"lin_(?:api|oauth)_[A-Za-z0-9]{40,64}", "lin_"),
    _token("notion-token", r"ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43}", "ntn_", "secret_"),
    _token("figma-token", r"figd_[A-Za-z0-9_\-]{40,60}", "figd_"),
    _token("dropbox-token", r"sl\.[A-Za-z0-9_\-]{100,2000}", "sl."),
    _token("databricks-token", r"dapi[0-9a-f]{32}(?:-\d)?", "dapi"),
    _token("doppler-token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9.\-]{40,80}", "dp."),
    _token("vault-token", r"hv[sbr]\.[A-Za-z0-9_\-]{24,200}", "hvs.", "hvb.", "hvr."),
    _free("terraform-token", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-=]{60,70}", "atlasv1"),
    _token("newrelic-key", r"NR(?:AK|JS|II|RA)-[A-Za-z0-9_\-]{20,42}", "NRAK-", "NRJS-", "NRII-", "NRRA-"),
    _token("grafana-token", r"gl(?:c_[A-Za-z0-9+/=]{32,400}|sa_[A-Za-z0-9]{32}_[0-9a-f]{8})", "glc_", "glsa_"),
    _token("sentry-token", r"sntry[su]_[A-Za-z0-9+/=_\-]{40,400}", "sntry"),
    _token("planetscale-secret", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.\-]{32,64}", "pscale_"),
    _token("supabase-key", r"sb(?:p|_secret|_publishable)_[A-Za-z0-9_]{20,60}", "sbp_", "sb_secret_"),
    _token("postman-key", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", "PMAK-"),
    _token("airtable-token", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}", "pat"),
    _token("pulumi-token", r"pul-[0-9a-f]{40}", "pul-"),
    _token("prefect-key", r"pn[ub]_[A-Za-z0-9]{36}", "pnu_", "pnb_"),
    _token("contentful-token", r"CFPAT-[A-Za-z0-9_\-]{43}", "CFPAT-"),
    _token("easypost-key", r"EZ[AT]K[A-Za-z0-9]{54}", "EZAK", "EZTK"),
    _token("flutterwave-key", r"FLWSECK(?:_TEST)?-[0-9a-zA-Z]{12,40}-X", "FLWSECK"),
    _token("dynatrace-token", r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}", "dt0"),
    _token("fly-token", r"fm[12][ar]?_[A-Za-z0-9+/=_\-]{60,2000}", "fm1", "fm2"),
    _token("netlify-token", r"nfp_[A-Za-z0-9]{36,40}", "nfp_"),
    _token("render-key", r"rnd_[A-Za-z0-9]{28,40}", "rnd_"),
    _token("artifactory-key", r"AKC[a-zA-Z0-9]{69,80}", "AKC"),
    _token("adafruit-key", r"aio_[A-Za-z0-9]{28}", "aio_"),
    _token("typeform-token", r"tfp_[A-Za-z0-9_\-.=]{44,64}", "tfp_"),
    _token("readme-key", r"rdme_[a-z0-9]{70}", "rdme_"),
    _token("shippo-token", r"shippo_(?:live|test)_[0-9a-f]{40}", "shippo_"),
    _token("launchdarkly-key", rf"(?:sdk|mob|api)-{_UUID}", "sdk-", "mob-", "api-"),
    _token("age-key", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}", "AGE-SECRET-KEY-"),
    _token("tailscale-key", r"tskey-(?:auth|api|client|scim|webhook)-[A-Za-z0-9]{8,40}-[A-Za-z0-9]{20,60}", "tskey-"),
    _token("cloudinary-url", r"cloudinary://\d{12,18}:[A-Za-z0-9_\-]{20,40}@[a-z0-9_\-]{1,60}", "cloudinary://"),
    _token("aiswe-canary", r"aiswe-canary-[0-9a-f]{16,64}", "aiswe-canary-"),
)

_PLACEHOLDER = re.compile(
    r"(?i)^[\W_]*$|^(.)\1+$|^<.*>$|^\{.*\}$|^\$|^%|^\[|x{4,}|\*{3,}|\.{3}"
    r"|example|sample|dummy|fake|placeholder|change[-_ ]?me|replace[-_ ]?(me|with|this)|your[-_ ]?|insert[-_ ]?"
    r"|^(none|null|true|false|todo|tbd|test|testing|redacted|secret|password|passwd|token|string|str|undefined|optional|required)$"
    r"|^(n/?a|not[-_ ]?set|unset|empty|missing|invalid|unknown|wrong|hidden)"
    r"|^[a-z]+[-_ ](password|secret|token|key|name|field|input|header|hash)$|^(password|secret|token|api[-_]?key)[-_ ]?[a-z]*$"
    r"|^(bearer|basic|oauth2?|jwt|csrf|session|access|refresh)[-_a-z]*$|os\.environ|getenv|process\.env|settings\.|config\."
)


def is_placeholder(value: str) -> bool:
    """Whether a value plainly stands for a secret instead of being one."""
    return bool(_PLACEHOLDER.search(value))


_ANCHORED = [(anchor, number) for number, entry in enumerate(FORMATS) for anchor in entry.anchors]


def find_known(text: str) -> Iterator[tuple[str, int, int]]:
    """Every known secret in a text as kind, start, end (of the secret itself)."""
    for number in sorted({number for anchor, number in _ANCHORED if anchor in text}):
        kind, _, pattern = FORMATS[number]
        group = 1 if pattern.groups else 0
        for match in pattern.finditer(text):
            yield kind, match.start(group), match.end(group)
