"""Payment, banks, shops, coins."""

from agents.gates.secret_kinds.shape import UUID, begun, holding, near, token

FORMATS = (
    token(
        "stripe-key",
        r"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{16,250}",
        *("sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"),
    ),
    token("webhook-signing-secret", r"whsec_[A-Za-z0-9+/=]{24,120}", "whsec_"),
    token("square-token", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_\-]{22,43}|EAAA[A-Za-z0-9_\-]{60}", "sq0", "EAAA"),
    begun("braintree-token", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}", "access_token$"),
    token(
        "adyen-key", r"AQ[A-Z][A-Za-z0-9]{2,6}[A-Za-z0-9+/]{60,300}-[A-Za-z0-9+/]{40,60}={0,2}-[^\s\"']{10,30}", "AQE"
    ),
    token("razorpay-key", r"rzp_(?:live|test)_[A-Za-z0-9]{14,32}", "rzp_"),
    token(
        "mollie-key",
        r"(?:live|test|access)_(?=[A-Za-z]{0,14}\d)(?=[a-z0-9]{0,20}[A-Z])[A-Za-z0-9]{30,50}",
        "live_",
        "test_",
        "access_",
    ),
    token("gocardless-token", r"live_[A-Za-z0-9_\-=]{40}", "live_"),
    token(
        "paddle-key",
        r"pdl_(?:live|sdbx)_apikey_[a-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}|pdl_ntfset_[a-z0-9]{26}_[A-Za-z0-9+/]{32}",
        "pdl_",
    ),
    holding(
        "plaid-token",
        rf"(?:access|processor)-(?:sandbox|development|production)-{UUID}",
        "-sandbox-",
        "-development-",
        "-production-",
    ),
    token("checkout-key", r"sk_(?:sbox_)?[a-z0-9]{26}[a-z0-9*=#$]?", "sk_"),
    token("klarna-key", r"klarna_(?:test|live)_api_[A-Za-z0-9_\-+/=]{40,200}", "klarna_"),
    token("flutterwave-key", r"FLWSECK(?:_TEST)?-[0-9a-zA-Z]{12,40}-X", "FLWSECK"),
    token("shippo-token", r"shippo_(?:live|test)_[0-9a-f]{40}", "shippo_"),
    token("easypost-key", r"EZ[AT]K[A-Za-z0-9]{54}", "EZAK", "EZTK"),
    token("lob-key", r"(?:live|test)(?:_pub)?_[0-9a-f]{31,35}", "live_", "test_"),
    token("duffel-token", r"duffel_(?:test|live)_[A-Za-z0-9_\-=]{43}", "duffel_"),
    token("shopify-token", r"shp(?:at|ca|pa|ss|tka|ua)_[0-9a-fA-F]{32}", "shp"),
    token("woocommerce-key", r"c[ks]_[0-9a-f]{40}", "ck_", "cs_"),
    token("polar-token", r"polar_(?:oat|pat|whs|at|rt)_[A-Za-z0-9]{32,64}", "polar_"),
    token("coinbase-key", r"organizations/[0-9a-f\-]{36}/apiKeys/[0-9a-f\-]{36}", "organizations/"),
    token("xendit-key", r"xnd_(?:development|production)_[A-Za-z0-9]{40,80}", "xnd_"),
    token("midtrans-key", r"(?:SB-)?Mid-server-[A-Za-z0-9_\-]{20,40}", "Mid-server-"),
    token("omise-key", r"skey_(?:test_)?[0-9a-z]{19}", "skey_"),
    near("solana-private-key", r"[1-9A-HJ-NP-Za-km-z]{87,88}", "solana", "phantom", "keypair"),
    near("ethereum-private-key", r"0x[0-9a-fA-F]{64}", "private"),
    token("settlemint-token", r"sm_(?:aat|pat|sat)_[A-Za-z0-9]{16}", "sm_aat_", "sm_pat_", "sm_sat_"),
)
