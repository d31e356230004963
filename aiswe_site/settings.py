"""Settings, read once from the environment, failing loudly. Every name is listed in docs/configuration.md."""

from __future__ import annotations

import secrets
from pathlib import Path

import environ
from csp.constants import NONCE, NONE, SELF

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

# Everything the product writes lies below this folder; nothing else is touched.
AISWE_HOME = Path(env.str("AISWE_HOME", default=str(BASE_DIR / ".aiswe"))).expanduser().resolve()
AISWE_HOME.mkdir(parents=True, exist_ok=True, mode=0o700)
(AISWE_HOME / "logs").mkdir(exist_ok=True)


def kept_secret(name: str) -> str:
    """A random secret made at first start and kept in a file only its owner can read."""
    path = AISWE_HOME / name
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(48))
    return path.read_text().strip()


DEBUG = env.bool("AISWE_DEBUG", default=False)
SECRET_KEY = env.str("AISWE_SECRET_KEY", default="") or kept_secret("secret_key")
SECRET_KEY_FALLBACKS = env.list(
    "AISWE_SECRET_KEY_FALLBACKS", default=[]
)  # older keys, while sessions and runs use them
ALLOWED_HOSTS = env.list("AISWE_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("AISWE_ORIGINS", default=[])
HTTPS = env.bool("AISWE_HTTPS", default=False)  # set behind a TLS proxy: secure cookies, HSTS

INSTALLED_APPS = [
    "daphne",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "csp",
    "channels",
    "projects",
    "dashboard",
    "aiswe_site",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "aiswe_site.policy.PolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "dashboard.gatekeeper.Gatekeeper",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "aiswe_site.urls"
ASGI_APPLICATION = "aiswe_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "dashboard.context.shell",
            ],
        },
    }
]

# SQLite by default; PostgreSQL by DATABASE_URL when scaled out.
DATABASES = {"default": env.db_url("DATABASE_URL", default=f"sqlite:///{AISWE_HOME / 'db.sqlite3'}")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        # IMMEDIATE: a writer waits for its turn at BEGIN instead of failing in the middle of a transaction.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY;",
    }
    # Threads (worker, live server) need a file also in tests: an in-memory database belongs to one thread.
    DATABASES["default"]["TEST"] = {"NAME": str(AISWE_HOME / "test.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.str("REDIS_URL", default="")  # "" = one process, no services
if REDIS_URL:
    CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [REDIS_URL], "prefix": "aiswe"},
        }
    }
else:
    CHANNEL_LAYERS = {
        "default": {"BACKEND": "aiswe_site.channel_layer.ThreadBridgeLayer", "CONFIG": {"capacity": 10_000}}
    }

CELERY_BROKER_URL = REDIS_URL or "memory://"
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
# Longer than any lease: a job seen twice is harmless (the lease refuses the second), a job lost is found by the sweep.
# In memory: look often, it costs no I/O; the default would let each job wait up to a second.
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 7200} if REDIS_URL else {"polling_interval": 0.05}
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "projects.jobs.sweep", "schedule": env.float("AISWE_SWEEP_SECONDS", default=20.0)},
    "tidy_sandboxes": {"task": "projects.jobs.tidy_sandboxes", "schedule": 60.0},
    "note_heads": {"task": "projects.jobs.note_heads", "schedule": env.float("AISWE_AUDIT_SECONDS", default=60.0)},
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "projects"
LOGOUT_REDIRECT_URL = "sign-in"

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = AISWE_HOME / "staticfiles"
STATIC_ROOT.mkdir(exist_ok=True)  # WhiteNoise warns about a folder that is not there
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

# A PRD may be 5 MB (agents.documents says the rest); anything larger is refused before it is read into memory.
DATA_UPLOAD_MAX_MEMORY_SIZE = 6 * 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5_000

# Sessions that know their person: all of somebody's can be ended at once.
SESSION_ENGINE = "projects.services.browser_sessions"
SESSION_IDLE_SECONDS = round(env.float("AISWE_SESSION_IDLE_HOURS", default=12.0) * 3600)
SESSION_COOKIE_AGE = round(env.float("AISWE_SESSION_DAYS", default=7.0) * 86_400)  # however much it is used
REQUIRE_SECOND_FACTOR = env.bool("AISWE_REQUIRE_2FA", default=False)
API_PER_MINUTE = env.int("AISWE_API_PER_MINUTE", default=120)  # requests of one token

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
# "__Host-": browsers take such a cookie over TLS from this very host alone, so a neighbour cannot plant one.
SESSION_COOKIE_NAME = "__Host-aiswe_session" if HTTPS else "aiswe_session"
CSRF_COOKIE_NAME = "__Host-csrftoken" if HTTPS else "csrftoken"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
X_FRAME_OPTIONS = "DENY"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "require-trusted-types-for": ["'script'"],
        "trusted-types": ["htmx", "aiswe"],  # made by hx-csp and by static/js/stream.js
    }
}

# --- the engine ---
OLLAMA_URL = env.str("AISWE_OLLAMA_URL", default=env.str("OLLAMA_HOST", default="") or "http://127.0.0.1:11434")
MODEL = env.str("AISWE_MODEL", default="qwen2.5-coder:7b")
MODEL_WINDOW = env.int("AISWE_MODEL_WINDOW", default=32_768)  # tokens; SWE-NFR-03
# Conversations a model server takes at a time; samples of one task are asked for together up to that number.
MODEL_PARALLEL = env.int("AISWE_MODEL_PARALLEL", default=env.int("OLLAMA_NUM_PARALLEL", default=1))
OPENAI_URL = env.str("AISWE_OPENAI_URL", default="https://api.openai.com/v1")  # or any compatible server
GEMINI_URL = env.str("AISWE_GEMINI_URL", default="https://generativelanguage.googleapis.com/v1beta")
MODELS_FILE = env.str("AISWE_MODELS_FILE", default=str(AISWE_HOME / "models.toml"))  # which models do the work
MODEL_OF = {  # by persona, in order of preference; "" = what the file or AISWE_MODEL says
    persona: env.str(f"AISWE_MODEL_{persona.upper()}", default="")
    for persona in ("planner", "tester", "coder", "reviewer")
}
GUARD_MODEL = env.str("AISWE_GUARD_MODEL", default="")  # a second model that may only tighten the firewall; "" = none
MEMORY = env.bool("AISWE_MEMORY", default=True)  # lessons are recalled and learned
EMBED_MODEL = env.str(
    "AISWE_EMBED_MODEL", default=""
)  # on the Ollama server, for lessons; "" = they are found by words
LESSON_THRESHOLD = env.float(
    "AISWE_LESSON_THRESHOLD", default=0.65
)  # least likeness of a lesson, 0…1; ACA-3: 0.6 to 0.7
SHARE_LESSONS = env.bool("AISWE_SHARE_LESSONS", default=False)  # a project sees what the others learned
SANDBOX_BACKEND = env.str("AISWE_SANDBOX", default="auto")
PACKAGES_FILE = env.str("AISWE_PACKAGES_FILE", default="")  # adds to the allow-lists of packages, for all projects
SANDBOX_READY = env.int("AISWE_SANDBOX_READY", default=1)  # of each kind, opened before a task asks; 0: none
DISK_RESERVE_MB = env.int("AISWE_DISK_RESERVE_MB", default=200)  # kept free for the audit trail
WORKER_CONCURRENCY = env.int("AISWE_WORKERS", default=4)
LEASE_SECONDS = env.float("AISWE_LEASE_SECONDS", default=30.0)  # a dead worker's task waits at most this long
AUDIT_HEADS = env.str("AISWE_AUDIT_HEADS", default="")  # "" = audit/heads.jsonl in AISWE_HOME; better on another disk
DEMO_TOKENS_PER_S = env.float("AISWE_DEMO_TOKENS_PER_S", default=60.0)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"()": "aiswe_site.logs.OneLineFormatter"},
        "whole": {
            "()": "aiswe_site.logs.WholeFormatter",
            "fmt": "{asctime} {levelname} {process} {name}: {message}",
            "style": "{",
        },
    },
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "line"},
        "file": {
            "class": "logging.handlers.RotatingFileHandler",
            "formatter": "whole",
            "filename": AISWE_HOME / "logs" / "aiswe.log",
            "maxBytes": 5_000_000,
            "backupCount": 3,
            "delay": True,
        },
    },
    "root": {"handlers": ["stderr", "file"], "level": env.str("AISWE_LOG_LEVEL", default="WARNING")},
    "loggers": {
        "kombu.connection": {"level": "ERROR"},  # it warns that memory:// names no host
        "stevedore.extension": {"level": "CRITICAL"},  # it misses Bandit's report formats that nobody here uses
    },
}
