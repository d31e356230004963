"""Where code is kept, built, checked and published."""

from agents.gates.secret_kinds.shape import UUID, begun, free, token, whole

FORMATS = (
    token("aiswe-api-token", r"aiswe_[0-9a-f]{10}_[A-Za-z0-9_\-]{43}", "aiswe_"),  # our own
    token("github-token", r"gh[pousr]_[A-Za-z0-9]{36,255}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    token("github-fine-grained-token", r"github_pat_[A-Za-z0-9_]{50,255}", "github_pat_"),
    begun(
        "gitlab-token",
        r"(?<![A-Za-z0-9_])(?:gl(?:pat|ptt|dt|rt|rtr|cbt|soat|oas|imt|ft|ffct|wt|agent)-|gloas-)[A-Za-z0-9_\-]{20,300}(?:\.[0-9a-z]{2}\.[0-9a-z]{9})?",
        *("glpat-", "glptt-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glsoat-", "gloas-", "glimt-", "glft-", "glffct-"),
        *("glwt-", "glagent-"),
    ),
    token("gitlab-runner-registration", r"GR1348941[A-Za-z0-9_\-]{20}", "GR1348941"),
    token("gitlab-session", r"_gitlab_session=[0-9a-z]{32}", "_gitlab_session="),
    token("bitbucket-token", r"ATBB[A-Za-z0-9]{32}(?:[0-9A-F]{8})?", "ATBB"),
    begun(
        "atlassian-token", r"(?<![A-Za-z0-9])AT(?:ATT|CTT|STT)3[A-Za-z0-9_\-=]{60,250}", "ATATT3", "ATCTT3", "ATSTT3"
    ),
    token("azure-repos-token", r"vsts[A-Za-z0-9]{52}", "vsts"),
    token(
        "sourcegraph-token", r"sg[pd]_(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40}|slk_[0-9a-f]{64}", "sgp_", "sgd_", "slk_"
    ),
    token("npm-token", r"npm_[A-Za-z0-9]{36}", "npm_"),
    token("pypi-token", r"pypi-Ag[A-Za-z0-9_\-]{50,500}", "pypi-Ag"),
    token("rubygems-key", r"rubygems_[0-9a-f]{48}", "rubygems_"),
    token("crates-token", r"cio[A-Za-z0-9]{32}", "cio"),
    token("nuget-key", r"oy2[a-z0-9]{43}", "oy2"),
    token("clojars-token", r"CLOJARS_[a-z0-9]{60}", "CLOJARS_"),
    token("packagist-token", r"packagist_(?:ack|acs|oat|uct|out|ort|ust)_[0-9a-f]{64,80}", "packagist_"),
    token("jsr-token", r"jsr[tpd]_[A-Za-z0-9]{30,60}", "jsrt_", "jsrp_", "jsrd_"),
    token("docker-hub-token", r"dckr_(?:pat|oat)_[A-Za-z0-9_\-]{27,40}", "dckr_"),
    token("artifactory-key", r"AKC[a-zA-Z0-9]{10,100}", "AKCp"),
    token("artifactory-reference-token", r"cmVmd[A-Za-z0-9]{59}", "cmVmd"),
    token("circleci-token", r"CCI(?:PAT|PRJ)_[A-Za-z0-9]{22}_[0-9a-fA-F]{40}", "CCIPAT_", "CCIPRJ_"),
    token("buildkite-token", r"bk(?:ua|aj|ct|at|pt)_[A-Za-z0-9]{40,64}", "bkua_", "bkaj_", "bkct_", "bkat_", "bkpt_"),
    token("jenkins-token", r"11[0-9a-f]{32}", "11"),
    token("sonar-token", r"sq[pua]_[0-9a-f]{40}", "squ_", "sqp_", "sqa_"),
    token(
        "snyk-token",
        r"snyk_[usp]at\.[0-9a-f]{8}\.[A-Za-z0-9_\-]{20,200}\.?[A-Za-z0-9_\-]{0,200}\.?[A-Za-z0-9_\-]{0,200}",
        "snyk_",
    ),
    token("harness-token", r"[ps]at\.[A-Za-z0-9_\-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}", "pat.", "sat."),
    token("octopus-key", r"API-[A-Z0-9]{25,32}", "API-"),
    token("scalingo-token", r"tk-us-[A-Za-z0-9_\-]{48}", "tk-us-"),
    token("launchdarkly-key", rf"(?:sdk|mob|api)-{UUID}", "sdk-", "mob-", "api-"),
    token("prefect-key", r"pn[ub]_[A-Za-z0-9]{36}", "pnu_", "pnb_"),
    token("infracost-key", r"ico-[A-Za-z0-9]{32}", "ico-"),
    token("localstack-token", r"ls-[A-Za-z]{8}-[A-Za-z0-9]{4}-[A-Za-z0-9]{4}-[A-Za-z0-9]{4}-[A-Za-z0-9]{12}", "ls-"),
    token("depot-token", r"depot_(?:org|project)_[0-9a-f]{64}", "depot_"),
    token("deno-token", r"dd[pwo]_[A-Za-z0-9]{36}", "ddp_", "ddw_", "ddo_"),
    token("postman-key", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}|PMAT-[0-9A-Z]{26}", "PMAK-", "PMAT-"),
    token("readme-key", r"rdme_[a-z0-9]{70}", "rdme_"),
    whole("sidekiq-url", r"https?://([0-9a-f]{8}:[0-9a-f]{8})@(?:gems|enterprise)\.contribsys\.com", "contribsys.com"),
    free(
        "sidekiq-secret",
        r"BUNDLE_(?:ENTERPRISE|GEMS)__CONTRIBSYS__COM[\"']?\s{0,3}[:=]\s{0,3}[\"']?([0-9a-f]{8}:[0-9a-f]{8})",
        "contribsys",
    ),
    token("endor-key", r"endr\+[A-Za-z0-9\-]{16}", "endr+"),
    token("chromatic-token", r"chpt_[0-9a-f]{12,40}", "chpt_"),
)
