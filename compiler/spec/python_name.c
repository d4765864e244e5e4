/* Keywords of Python, and names that kernels cannot have, because NAME.py could not be imported or would replace a
   module of Python. */
#include "reader.h"
#include "spec.h"

#include <string.h>

/* Keywords of Python, without the words that are also keywords of C (check.c). */
static const char keywords
    [] = "False None True and as assert async await class def del elif except finally from global import in is lambda "
         "nonlocal not or pass raise try with yield ";

/* The names in sys.stdlib_module_names of Python 3.10 to 3.14 without a leading `_`, and the libraries that NAME.py
   imports. */
static const char modules[] =
    "abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb "
    "binascii binhex bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections "
    "colorsys compileall compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes "
    "curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno "
    "faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext "
    "glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress "
    "itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap "
    "modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator "
    "optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath "
    "pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline "
    "reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd "
    "smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string "
    "stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios "
    "textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle "
    "turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg "
    "winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo "
    "jax ml_dtypes numpy tensorflow torch ";

bool word_is_among(const char *name, const char *words)
{
    const size_t length = strlen(name);
    for (const char *at = words; (at = strstr(at, name)); at++)
        if ((at == words || at[-1] == ' ') && at[length] == ' ') return true;
    return false;
}

bool python_is_keyword(const char *name)
{
    return word_is_among(name, keywords);
}

void python_check_name(const struct spec *spec, struct diagnostics *d)
{
    const char *const name = spec->name;
    if (word_is_among(name, keywords))
        diagnostics_error(d, spec->name_at, "'name': Python cannot import %s.py, because '%s' is a keyword there", name,
                          name);
    else if (name[0] == '_')
        diagnostics_error(d, spec->name_at, "'name': names of Python's own modules begin like '%s'", name);
    else if (word_is_among(name, modules))
        diagnostics_error(d, spec->name_at,
                          "'name': %s.py would hide the module of that name, which Python programs import", name);
    else
        return;
    diagnostics_note(d, spec->name_at,
                     "give the kernel another name here or with --set name=..., or leave py out of --emit");
}
