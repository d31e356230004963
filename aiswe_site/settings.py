"""The Django settings. What an installation can choose is in `aiswe_site.startup.configuration`."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from csp.constants import NONCE, NONE, SELF

from agents.llm.registry import model_servers
from aiswe_site import VERSION as VERSION
from aiswe_site.startup.configuration import WrongSetting, load
from aiswe_site.startup.database import SQLITE, database
from aiswe_site.startup.home import data_folder, keep_database_private, keep_private
from projects.services.insight.prices import parse_model_prices
from projects.storage.key_files import kept_key

BASE_DIR = Path(__file__).resolve().parent.parent
config = load()

# Everything the product writes lies below this folder; nothing else is touched.
AISWE_HOME = data_folder()
AISWE_HOME.mkdir(parents=True, exist_ok=True, mode=0o700)
keep_private(AISWE_HOME, 0o700)
(AISWE_HOME / "logs").mkdir(exist_ok=True)

DEBUG = config.DEBUG
SECRET_KEY = config.SECRET_KEY or kept_key(AISWE_HOME / "secret_key", lambda: secrets.token_urlsafe(48), 50)
SECRET_KEY_FALLBACKS = config.SECRET_KEY_FALLBACKS
ALLOWED_HOSTS = config.HOSTS
CSRF_TRUSTED_ORIGINS = config.ORIGINS
HTTPS = config.HTTPS
APPS_DOMAIN = config.APPS_DOMAIN

INSTALLED_APPS = [
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
    "dashboard.access.gatekeeper.Gatekeeper",
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
                "dashboard.http.context.shell",
            ],
            "builtins": [
                "django.templatetags.static",
                "django.contrib.humanize.templatetags.humanize",
                "dashboard.templatetags.look",
                "dashboard.templatetags.markup",
            ],
        },
    }
]

DATABASES = {"default": database(config.DATABASE_URL, AISWE_HOME)}
if DATABASES["default"]["ENGINE"] == SQLITE:
    keep_database_private(Path(DATABASES["default"]["NAME"]))
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = config.REDIS_URL  # "" = one process, no services
if REDIS_URL:
    CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [REDIS_URL], "prefix": "aiswe"},
        }
    }
else:
    CHANNEL_LAYERS = {
        "default": {"BACKEND": "aiswe_site.startup.channel_layer.ThreadBridgeLayer", "CONFIG": {"capacity": 10_000}}
    }

JOB_QUEUE = "aiswe_site.celery.app"  # imported by the first job that is sent: Celery is slow to import
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
    "sweep": {"task": "projects.jobs.sweep", "schedule": config.SWEEP_SECONDS},
    "tidy_sandboxes": {"task": "projects.jobs.tidy_sandboxes", "schedule": 60.0},
    "operate": {"task": "projects.operations_jobs.operate", "schedule": 5.0},
    "watch_installation": {"task": "projects.operations_jobs.watch_installation", "schedule": 60.0},
    "tend_forges": {"task": "projects.forge_jobs.tend", "schedule": config.SWEEP_SECONDS},
    "note_heads": {"task": "projects.jobs.note_heads", "schedule": config.AUDIT_SECONDS},
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

EMAIL_HOST = config.MAIL_HOST
EMAIL_PORT = config.MAIL_PORT
EMAIL_HOST_USER = config.MAIL_USER
EMAIL_HOST_PASSWORD = config.MAIL_PASSWORD
EMAIL_USE_TLS = config.MAIL_TLS == "starttls"
EMAIL_USE_SSL = config.MAIL_TLS == "tls"
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = config.MAIL_FROM
WEBHOOK_HOSTS = config.WEBHOOK_HOSTS

TIME_ZONE = "UTC"
USE_I18N = False

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = AISWE_HOME / "staticfiles"
STATIC_ROOT.mkdir(exist_ok=True)  # WhiteNoise warns about a folder that is not there
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

# A PRD may be 5 MB (agents.requirements.documents says the rest); anything larger is refused before it is read into
# memory.
DATA_UPLOAD_MAX_MEMORY_SIZE = 6 * 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5_000

# Sessions that know their person: all of somebody's can be ended at once.
SESSION_ENGINE = "projects.services.accounts.browser_sessions"
SESSION_IDLE_SECONDS = round(config.SESSION_IDLE_HOURS * 3600)
SESSION_COOKIE_AGE = round(config.SESSION_DAYS * 86_400)  # however much it is used
REQUIRE_SECOND_FACTOR = config.REQUIRE_2FA
API_PER_MINUTE = config.API_PER_MINUTE

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
MODEL_URLS = {kind.name: kind.url_in(os.environ) for kind in model_servers()}  # AISWE_<NAME>_URL
MODEL = config.MODEL
MODEL_WINDOW = config.MODEL_WINDOW
MODEL_TIMEOUTS = {  # agents.llm.base.Timeouts
    "first_token": config.MODEL_FIRST_TOKEN_SECONDS,
    "idle": config.MODEL_SILENCE_SECONDS,
    "total": config.MODEL_REPLY_SECONDS,
}
MODEL_PARALLEL = config.MODEL_PARALLEL
MODELS_FILE = config.MODELS_FILE or str(AISWE_HOME / "models.toml")
AGENTS_FILE = config.AGENTS_FILE or str(AISWE_HOME / "agents.toml")
MODEL_OF = {  # by persona, in order of preference; "" = what the file or AISWE_MODEL says
    "planner": config.MODEL_PLANNER,
    "tester": config.MODEL_TESTER,
    "coder": config.MODEL_CODER,
    "reviewer": config.MODEL_REVIEWER,
}
GUARD_MODEL = config.GUARD_MODEL
MEMORY = config.MEMORY
EMBEDDING = config.EMBEDDING
LESSON_THRESHOLD = config.LESSON_THRESHOLD
SHARE_LESSONS = config.SHARE_LESSONS
SANDBOX_BACKEND = config.SANDBOX
PACKAGES_FILE = config.PACKAGES_FILE
IMPORT_ROOTS = config.IMPORT_ROOTS
IMPORT_MB = config.IMPORT_MB
IMPORT_SECONDS = config.IMPORT_SECONDS
GIT_HOSTS = config.GIT_HOSTS
GIT_TOKENS = config.GIT_TOKENS
GIT_SSH_KEY = config.GIT_SSH_KEY
JIRA_TOKENS = config.JIRA_TOKENS
SEARCH = config.SEARCH
SEARCH_KEY = config.SEARCH_KEY
SEARCH_ENGINE = config.SEARCH_ENGINE
SEARCH_URL = config.SEARCH_URL
SANDBOX_READY = config.SANDBOX_READY
DISK_RESERVE_MB = config.DISK_RESERVE_MB
WORKER_CONCURRENCY = config.WORKERS
LEASE_SECONDS = config.LEASE_SECONDS
AUDIT_HEADS = config.AUDIT_HEADS
DEMO_TOKENS_PER_S = config.DEMO_TOKENS_PER_S

# --- what work costs ---
try:
    MODEL_PRICES = parse_model_prices(config.MODEL_PRICES)
except ValueError as wrong:
    raise WrongSetting(f"AISWE_MODEL_PRICES: {wrong}, like gpt-4o=2.5/1.25/10.") from None
KWH_PRICE = config.KWH_PRICE
WATTS = config.WATTS
MEASURE_ENERGY = config.MEASURE_ENERGY
WEEK_BUDGET = config.WEEK_BUDGET

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
    "root": {"handlers": ["stderr", "file"], "level": config.LOG_LEVEL},
    "loggers": {
        "kombu.connection": {"level": "ERROR"},  # it warns that memory:// names no host
        "stevedore.extension": {"level": "CRITICAL"},  # it misses Bandit's report formats that nobody here uses
    },
}
