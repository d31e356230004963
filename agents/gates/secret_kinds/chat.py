"""Chat, mail, telephone, social networks."""

from agents.gates.secret_kinds.shape import UUID, holding, near, token, whole

FORMATS = (
    token("slack-token", r"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,250}", "xox"),
    token("slack-app-token", r"xapp-\d-[A-Z0-9]{6,20}-\d{6,20}-[A-Za-z0-9]{20,120}", "xapp-"),
    whole(
        "slack-webhook",
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/]{20,120}",
        "hooks.slack.com",
    ),
    holding("discord-bot-token", r"[MNO][A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,40}", "."),
    whole(
        "discord-webhook",
        r"https://(?:ptb\.|canary\.)?discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{15,20}/[A-Za-z0-9_\-]{40,100}",
        "/webhooks/",
    ),
    holding("telegram-bot-token", r"\d{8,10}:AA[A-Za-z0-9_\-]{33}", ":AA"),
    whole("telegram-bot-url", r"api\.telegram\.org/bot(\d{6,12}:[A-Za-z0-9_\-]{30,40})", "api.telegram.org"),
    whole(
        "teams-webhook",
        r"https://[a-z0-9-]{1,60}\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/\-]{40,250}",
        "webhook.office.com",
    ),
    whole("dingtalk-webhook", r"oapi\.dingtalk\.com/robot/send\?access_token=([0-9a-f]{64})", "oapi.dingtalk.com"),
    whole("feishu-webhook", rf"open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/({UUID})", "open-apis/bot"),
    whole("wecom-webhook", rf"qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=({UUID})", "qyapi.weixin"),
    whole("zapier-webhook", r"https://hooks\.zapier\.com/hooks/catch/\d{4,12}/[A-Za-z0-9]{5,20}", "hooks.zapier.com"),
    whole(
        "make-webhook",
        r"https://hook\.(?:[a-z0-9]{2,4}\.)?(?:make|integromat)\.com/[A-Za-z0-9]{28,40}",
        "https://hook.",
    ),
    whole(
        "ifttt-webhook",
        r"maker\.ifttt\.com/(?:trigger|use)/[^\s\"']{0,80}?(?:with/key|use)/([A-Za-z0-9_\-]{20,60})",
        "maker.ifttt.com",
    ),
    whole("pipedream-webhook", r"https://[a-z0-9]{24,40}\.m\.pipedream\.net", "pipedream.net"),
    token(
        "matrix-token",
        r"syt_[A-Za-z0-9+/]{1,60}_[A-Za-z]{20}_[A-Za-z0-9]{6}|mct_[A-Za-z0-9]{30}_[A-Za-z0-9]{6}",
        "syt_",
        "mct_",
    ),
    token("sendgrid-key", r"SG\.[A-Za-z0-9_\-]{20,24}\.[A-Za-z0-9_\-]{39,50}", "SG."),
    near("mailgun-key", r"key-[0-9a-f]{32}|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}", "key-", "mailgun"),
    holding("mailchimp-key", r"[0-9a-f]{32}-us\d{1,2}", "-us"),
    token("mandrill-key", r"md-[A-Za-z0-9_\-]{22}", "md-"),
    token("sendinblue-key", r"x(?:keysib|smtpsib)-[0-9a-f]{64}-[A-Za-z0-9]{16}", "xkeysib-", "xsmtpsib-"),
    token("resend-key", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}", "re_"),
    token("mailersend-token", r"mlsn\.[0-9a-f]{64}", "mlsn."),
    token("mailtrap-token", r"mt_[a-z]{2,8}_[A-Za-z0-9]{32,48}", "mt_"),
    token("klaviyo-key", r"pk_[0-9a-f]{34}(?:_[0-9a-f]{6,40})?", "pk_"),
    token("onesignal-key", r"os_v2_(?:app|org)_[a-z2-7]{90,120}", "os_v2_"),
    token("knock-key", r"sk_(?:test|live|prod)_[A-Za-z0-9_\-]{30,60}", "sk_test_", "sk_live_", "sk_prod_"),
    token("twilio-key", r"SK[0-9a-f]{32}", "SK"),
    token("courier-key", r"pk_(?:prod|test)_[A-Z0-9]{28}", "pk_prod_", "pk_test_"),
    token("facebook-token", r"EAA[A-Za-z0-9]{30,250}", "EAA"),
    holding("facebook-app-token", r"\d{15,16}\|[A-Za-z0-9_\-]{27}", "|"),
    token("instagram-token", r"IG(?:QV|QW|AA)[A-Za-z0-9_\-]{40,250}", "IGQ", "IGAA"),
    token("twitter-bearer-token", r"A{20,22}[A-Za-z0-9%]{60,120}", "AAAAAAAAAAAAAAAAAAAA"),
    near(
        "twitter-access-token", r"\d{15,20}-[A-Za-z0-9]{40}", "twitter", "access_token", "access-token", "accesstoken"
    ),
    token("linkedin-secret", r"WPL_AP[01]\.[A-Za-z0-9]{16}\.[A-Za-z0-9+/]{8,12}={0,2}", "WPL_AP"),
    token("pinterest-token", r"pin[ar]_[A-Za-z0-9_\-]{40,200}", "pina_", "pinr_"),
    token("tiktok-token", r"act\.[A-Za-z0-9]{40,80}(?:![0-9]{3,5}(?:\.[a-z0-9]{1,4})?)?", "act."),
    token("twitch-token", r"oauth:[a-z0-9]{30}", "oauth:"),
    token("intercom-token", r"dG9rO[A-Za-z0-9+/]{54,60}={0,2}", "dG9rO"),
    token("novu-key", r"nvk_[0-9a-f]{32,64}", "nvk_"),
)
