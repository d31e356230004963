"""Keys and credentials that no single vendor issues: private keys, passwords in addresses, headers, session tokens."""

from agents.gates.secret_kinds.shape import START, begun, free, near, token, whole

_VALUE = r"[^\s\"'<>{}$%;&,]"

FORMATS = (
    # With something of the key behind the first line: code that looks for that line alone holds no key.
    free(
        "private-key",
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?=(?:\s|\\[nr]|[\"'][ \t]*[+\\]?[ \t]*\r?\n?[ \t]*[+]?[ \t]*[rbf]?[\"']){0,40}"
        r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash)[^\n]{0,200}\s{1,20}){0,6}[A-Za-z0-9+/]{6})"
        r"(?:(?:(?!-----)[\s\S]){0,16384}-----END [A-Z0-9 ]{0,40}-----|[A-Za-z0-9+/=\r\n\\]{0,16384})",
        "private key",
    ),
    free("ssh2-private-key", r"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----(?:[^-]{20,16384}----)", "ssh2 encrypted"),
    free(
        "putty-private-key",
        r"PuTTY-User-Key-File-[123]: [^\n]{1,60}\n(?:[^\n]{0,200}\n){2,80}?Private-MAC: [0-9a-f]{40,64}",
        "putty-user-key-file",
    ),
    # The beginning of "-----BEGIN … PRIVATE KEY" in base64, as kubeconfig files and Kubernetes secrets hold it.
    free(
        "encoded-private-key",
        r"(?<![A-Za-z0-9+/])LS0tLS1CRUdJTi(?:BQUklWQVRFIEtFWS|BSU0EgUFJJVkFURSBLRVk|BFQyBQUklWQVRFIEtFWS|BPUEVOU1NIIFBSSVZBVEUgS0VZ|BFTkNSWVBURUQgUFJJVkFURSBLRVk|BEU0EgUFJJVkFURSBLRVk)[A-Za-z0-9+/\r\n]{8,20000}={0,2}",
        "ls0tls1crudjti",
    ),
    free(
        "openvpn-static-key",
        r"-----BEGIN OpenVPN Static key V1-----[0-9a-f\s\\nr]{20,4096}(?:-----END OpenVPN Static key V1-----)?",
        "openvpn static key",
    ),
    free(
        "wireguard-key",
        r"(?i:private|preshared)Key[ \t]{0,4}=[ \t]{0,4}([A-Za-z0-9+/]{43}=)",
        "privatekey",
        "presharedkey",
    ),
    free("jwk-private-key", r"\"(?:d|k)\"\s{0,3}:\s{0,3}\"([A-Za-z0-9_\-]{43,700})\"", '"kty"'),
    token("age-key", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}", "AGE-SECRET-KEY-"),
    token(
        "age-post-quantum-key", r"AGE-SECRET-KEY-PQ-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58,200}", "AGE-SECRET-KEY-PQ"
    ),
    near(
        "bitcoin-private-key",
        r"(?:5[1-9A-HJ-NP-Za-km-z]{50}|[KL][1-9A-HJ-NP-Za-km-z]{51})",
        "wif",
        "private",
        "bitcoin",
    ),
    token("extended-private-key", r"[xyzt]prv[1-9A-HJ-NP-Za-km-z]{107}", "xprv", "yprv", "zprv", "tprv"),
    begun(
        "jwt",
        r"(?<![A-Za-z0-9_\-])eyJ[A-Za-z0-9_\-]{10,2000}\.eyJ[A-Za-z0-9_\-]{10,4000}\.[A-Za-z0-9_\-]{20,1000}",
        "eyJ",
    ),
    free(
        "url-with-password",
        r"://[^\s:/@\"'<>{}$]{0,64}:([^\s:/@\"'<>{}$%*]{3,128}|[^\s:/@\"'<>{}$*]{6,128})@[A-Za-z0-9\[]",
        "://",
    ),
    whole("url-with-token", r"https?://([A-Za-z0-9_\-]{20,100})@[A-Za-z0-9]", "@"),
    free(
        "authorization-header",
        r"(?i:authorization[\"']?\s{0,3}[:=,]\s{0,3}[rbuf]{0,2}[\"'`]?(?:bearer|basic|token|apikey|api-key|key|digest|negotiate)\s{1,3})([A-Za-z0-9._~+/=\-]{16,2000})",
        "authorization",
        "uthorization",
    ),
    free(
        "bearer-token",
        r"(?:Bearer|BEARER|bearer) ((?=[A-Za-z._~+/\-]{0,200}\d)[A-Za-z0-9._~+/\-]{24,2000}={0,2})",
        "bearer ",
    ),
    free(
        "api-key-header",
        r"(?i:x-(?:[a-z]{1,20}-){0,3}(?:api-?key|auth-?key|token|auth-token|access-token|secret)[\"']?\s{0,3}:\s{0,3}[\"']?)((?=[A-Za-z._~+/\-]{0,200}\d)[A-Za-z0-9._~+/=\-]{16,400})",
        "x-",
    ),
    free(
        "curl-user",
        rf"\bcurl\b[^\n]{{0,300}}?\s(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"'$]{{1,60}}:({_VALUE}{{4,128}})",
        "curl",
    ),
    free("sshpass", rf"\bsshpass\s{{1,3}}-p\s{{0,2}}[\"']?({_VALUE}{{4,128}})", "sshpass"),
    free(
        "mysql-password",
        rf"\b(?:mysql|mysqldump|mariadb|mysqladmin)\b[^\n]{{0,200}}?\s-p[\"']?({_VALUE}{{5,128}})",
        "mysql",
        "mariadb",
    ),
    free(
        "docker-login",
        rf"\b(?:docker|podman|helm|az|oc)\b[^\n]{{0,80}}? login[^\n]{{0,200}}?\s(?:-p|--password)[ =][\"']?({_VALUE}{{5,200}})",
        " login",
    ),
    free(
        "netrc",
        rf"(?i:\bmachine\s{{1,4}}[^\s]{{1,100}}\s{{1,8}}login\s{{1,4}}[^\s]{{1,100}}\s{{1,8}}password\s{{1,4}})({_VALUE}{{4,200}})",
        "login ",
    ),
    free(
        "npmrc-auth",
        r"(?:^|(?<=[:\s\"']))_(?:authToken|auth|password)[ \t]{0,3}=[ \t]{0,3}[\"']?((?=[A-Za-z_+/=.\-]{0,200}\d)[A-Za-z0-9_+/=.\-]{12,400})(?![(\[])",
        "_auth",
        "_password",
    ),
    free(
        "docker-config-auth",
        r"\"(?:auth|identitytoken|registrytoken)\"\s{0,3}:\s{0,3}\"([A-Za-z0-9+/_.\-]{12,4000}={0,2})\"",
        '"auth"',
        '"identitytoken"',
        '"registrytoken"',
    ),
    whole(
        "pgpass",
        r"(?:^|(?<=[\s\"'`/]))[A-Za-z0-9.\-*]{1,100}:(?:\d{2,5}|\*):[A-Za-z0-9_\-*]{1,60}:[A-Za-z0-9_\-*]{1,60}:([^\s:\"'`]{5,128})",
        ":5432:",
        ":*:",
        ":5433:",
        ":6432:",
    ),
    free("connection-password", rf"(?i:;\s{{0,2}}(?:password|pwd)\s{{0,2}}=\s{{0,2}})({_VALUE}{{4,128}})", ";"),
    free(
        "connection-account-key",
        r"(?i:(?:AccountKey|SharedSecretValue|SharedSecret)=)([A-Za-z0-9+/]{40,90}={0,2})",
        "accountkey",
        "sharedsecret",
    ),
    near("kubernetes-bootstrap-token", r"[a-z0-9]{6}\.[a-z0-9]{16}", "bootstrap", "kubeadm", "kubelet"),
    token(
        "docker-swarm-token",
        r"SWM(?:TKN-1-[a-z0-9]{50}-[a-z0-9]{25}|KEY-1-[A-Za-z0-9+/]{43})",
        "SWMTKN-1-",
        "SWMKEY-1-",
    ),
    begun("openshift-token", rf"{START}sha256~[A-Za-z0-9_\-]{{43}}(?![A-Za-z0-9_\-])", "sha256~"),
    whole(
        "htpasswd",
        r"(?:^|(?<=[\s\"'`/]))[A-Za-z0-9_.@\-]{1,60}:(\$(?:apr1|2[aby]|1|5|6|y)\$[A-Za-z0-9./$]{20,120})",
        ":$",
    ),
    begun("otp-secret", r"otpauth://[a-z]{4}/[^\s\"']{1,200}?[?&]secret=([A-Z2-7]{16,64})", "otpauth://"),
    token("aiswe-canary", r"aiswe-canary-[0-9a-f]{16,64}", "aiswe-canary-"),
)
