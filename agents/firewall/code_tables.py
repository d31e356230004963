"""Which names in Python code can do what."""

from __future__ import annotations

import re

SENDERS = re.compile(
    r"^(requests|httpx)\.(post|put|patch|get|delete|head|request|stream|Client|AsyncClient|Session)|^urllib\.request\.(urlopen|Request|urlretrieve)|^urllib3\.|^http\.client\.HTTPS?Connection"
    r"|^socket\.(socket|create_connection|getaddrinfo|gethostbyname)|^smtplib\.|^ftplib\.|^telnetlib\.|^poplib\.|^imaplib\.|^nntplib\.|^xmlrpc\.client\.|^paramiko\.|^aiohttp\.|^websockets?\.|^asyncio\.open_connection|^dns\.|^boto3\.|^pycurl\."
)
RUNNERS = re.compile(
    r"^((os|posix|nt)\.(system|popen|exec\w+|spawn\w+|posix_spawn\w*|startfile)|subprocess\.(run|call|check_call|check_output|Popen|getoutput|getstatusoutput)"
    r"|asyncio\.create_subprocess_(shell|exec)|pty\.spawn|commands\.getoutput|_posixsubprocess\.fork_exec|pexpect\.(spawn|run)|sh\.\w+|platform\.popen|popen2\.\w+|distutils\.spawn\.spawn)$"
)
ESCAPES = frozenset(
    {
        "os.setuid", "os.setgid", "os.seteuid", "os.setresuid", "os.chroot", "os.unshare", "os.setns", "os.pivot_root", "os.mknod", "os.setgroups",
        "os.putenv", "resource.prlimit", "os.memfd_create", "os.ptrace",
    }
)  # fmt: skip
# What watches, replaces or rebuilds running code, or turns data into it.
MACHINERY = frozenset(
    {
        "sys.settrace", "sys.setprofile", "threading.settrace", "sys.addaudithook", "sys._getframe", "sys._current_frames", "inspect.currentframe", "gc.get_objects",
        "gc.get_referrers", "types.CodeType", "types.FunctionType", "marshal.loads", "marshal.load", "pickle.loads", "pickle.load", "pickle.Unpickler",
        "_pickle.loads", "cPickle.loads", "dill.loads", "dill.load", "cloudpickle.loads", "shelve.open", "jsonpickle.decode", "runpy.run_path",
        "runpy.run_module", "code.interact", "code.InteractiveInterpreter", "code.InteractiveConsole", "importlib.util.spec_from_file_location",
        "importlib.machinery.SourceFileLoader", "importlib.machinery.ExtensionFileLoader", "imp.load_source", "imp.load_dynamic", "imp.load_module",
        "zipimport.zipimporter", "site.addsitedir", "site.addpackage", "pdb.set_trace", "faulthandler.dump_traceback_later", "operator.attrgetter", "operator.methodcaller",
    }
)  # fmt: skip
HOOKS = frozenset(
    {
        "sys.meta_path",
        "sys.path_hooks",
        "sys.modules",
        "builtins.__import__",
        "builtins.open",
        "sys.excepthook",
        "sys.displayhook",
    }
)
ALIASED = frozenset(
    {
        "os",
        "posix",
        "subprocess",
        "shutil",
        "socket",
        "builtins",
        "eval",
        "exec",
        "pty",
        "ctypes",
        "importlib",
        "__import__",
        "sys",
        "getattr",
        "compile",
    }
)
KILLERS = frozenset({"os.kill", "os.killpg", "os.abort", "signal.pidfd_send_signal"})
NATIVE = ("ctypes.", "cffi.", "_ctypes.", "mmap.mmap", "_rawffi")
DANGEROUS = frozenset(
    {"os", "posix", "nt", "subprocess", "builtins", "__builtins__", "sys", "shutil", "socket", "importlib", "pty"}
)
TEXT_TO_CODE = frozenset({"eval", "exec", "compile"})
INSIDES = frozenset(
    {
        "__subclasses__", "__globals__", "__builtins__", "__bases__", "__mro__", "__base__", "f_globals", "f_locals", "f_back", "f_builtins", "gi_frame", "gi_code", "cr_frame",
        "tb_frame", "__code__", "__closure__", "__reduce_ex__", "__getattribute__", "__loader__", "__spec__",
    }
)  # fmt: skip
REACHING = frozenset(
    {"__subclasses__", "__globals__", "__builtins__", "f_globals", "f_builtins", "f_back", "gi_frame", "tb_frame"}
)
WRITERS = frozenset(
    {
        "shutil.copy",
        "shutil.copy2",
        "shutil.copyfile",
        "shutil.copytree",
        "shutil.move",
        "os.rename",
        "os.replace",
        "os.symlink",
        "os.link",
    }
)
REMOVERS = frozenset({"shutil.rmtree", "os.removedirs"})
PATH_ACTS = frozenset(
    {"os.remove", "os.unlink", "os.rmdir", "os.mkdir", "os.makedirs", "os.chmod", "os.chown", "os.truncate"}
)
SERIALISERS = frozenset(
    {
        "print",
        "json.dumps",
        "json.dump",
        "str",
        "repr",
        "pprint.pprint",
        "pprint",
        "yaml.dump",
        "yaml.safe_dump",
        "pickle.dumps",
        "urllib.parse.urlencode",
        "base64.b64encode",
    }
)
DECODERS = re.compile(
    r"b64decode|b32decode|b16decode|b85decode|a85decode|a2b_|unhexlify|fromhex|decompress|rot_?13|urlopen|\.get\(|\.text\b|\.content\b|recv|codecs\.decode|marshal|chr\("
)
LOCAL = re.compile(
    r"^(https?|wss?)://(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0|test(server)?|[\w.-]*example\.(com|org|net)|[\w.-]+\.(test|local|invalid|example))([:/]|$)"
)
LOCAL_HOST = re.compile(
    r"^(localhost|127\.\d+\.\d+\.\d+|::1?|0\.0\.0\.0|test(server)?|[\w.-]*example\.(com|org|net)|[\w.-]+\.(test|local|invalid|example)|)$"
)
