"""Machines that share nothing, made of namespaces of Linux: a network, a file system, a name and processes of their own each.

Everything hangs on the standard input of a process: when the one who made a network or a host is gone, however it ended, the kernel
takes the processes, the mounts and the interfaces away.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windrow.java import ensure_java

ROOT = Path(__file__).resolve().parents[2]
# Where a host has what its "installation" brings; the machine that the tests run on has them elsewhere.
SPARK_HOME, JAVA_HOME = "/mnt/spark", "/mnt/java"
_START_SECONDS = 20.0


def why_not() -> str | None:
    """What keeps this machine from having such hosts."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "namespaces need Linux and root"
    missing = [name for name in ("unshare", "nsenter", "ip") if shutil.which(name) is None]
    if missing:
        return f"no {', '.join(missing)} on this machine"
    tried = subprocess.run(["unshare", "-n", "-m", "-u", "-p", "-f", "true"], capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else f"namespaces are not allowed here: {tried.stderr.strip()}"


@dataclass
class Host:
    """One machine: ``folder`` is its disk, its ``/tmp`` and home; what the tests' machine has below its own is not to be seen."""

    name: str
    address: str
    folder: Path
    # The first process of the host, and the one on our side that it ends with.
    pid: int
    holder: subprocess.Popen[bytes]
    # The end of its cable at the switch, and the process in whose namespace that end is.
    cable: str
    switch: int
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, command: Sequence[str], variables: Mapping[str, str], log: Path, cwd: str = "/tmp") -> subprocess.Popen[bytes]:
        """A program of this machine. What it writes goes to a file on ours."""
        known = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", "HOME": "/tmp", "JAVA_HOME": JAVA_HOME}
        words = ["nsenter", "-t", str(self.pid), "-m", "-u", "-n", "-p", "-i", "env", "-i"]
        words += [f"{key}={value}" for key, value in {**known, **variables}.items()]
        words += ["sh", "-c", f"cd {shlex.quote(cwd)} && exec {shlex.join(command)}"]
        with log.open("ab") as output:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
        self.started.append(process)
        return process

    def call(self, *command: str) -> str:
        words = ["nsenter", "-t", str(self.pid), "-m", "-u", "-n", "-p", "-i", *command]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    def processes(self, pattern: str = "") -> dict[int, str]:
        """Those of this machine whose command has the pattern, by the number that they have on ours."""
        own = _namespace(self.pid)
        found: dict[int, str] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) != self.pid and _namespace(int(entry.name)) == own:
                with contextlib.suppress(OSError):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    if command and re.search(pattern, command):
                        found[int(entry.name)] = command
        return found

    def signal(self, pattern: str, number: signal.Signals) -> list[int]:
        """Every process whose command has the pattern; at least one must."""
        found = list(self.processes(pattern))
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        return found

    def cut(self) -> None:
        """Pull the cable."""
        _ip(self.switch, "link", "set", self.cable, "down")

    def mend(self) -> None:
        _ip(self.switch, "link", "set", self.cable, "up")

    def power_off(self) -> None:
        """Every process at once, and nothing is said to anybody."""
        self.holder.kill()
        self.holder.wait()
        for process in self.started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)


def _namespace(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def _ip(pid: int, *words: str) -> None:
    subprocess.run(["nsenter", "-t", str(pid), "-n", "ip", *words], check=True, capture_output=True, text=True)


class Network:
    """A switch with hosts on it. The machine of the tests is on it, too, as ``.1``: servers there are reached at ``address``."""

    def __init__(self, folder: Path, number: int, switch: subprocess.Popen[bytes], cable: str) -> None:
        self.folder = folder
        self._number = number
        self._switch = switch
        self._own_cable = cable
        self.hosts: dict[str, Host] = {}
        self._next = 2
        # Every host has it as /etc/hosts: the names of all, as a name server would know them.
        self._names = folder / "hosts"
        self._names.write_text(f"127.0.0.1 localhost\n{self.address} tests\n", encoding="ascii")

    @property
    def address(self) -> str:
        return f"10.213.{self._number}.1"

    def host(self, name: str, *, address: str | None = None, has_project: bool = False) -> Host:
        """Put a machine on the network. One that was switched off comes back with the address and the disk that it had.

        ``has_project``: it has the checkout and its environment, as the machine of a driver does.
        """
        folder = self.folder / name
        for part in ("tmp", "log"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        if address is None:
            address, self._next = f"10.213.{self._number}.{self._next}", self._next + 1
            with self._names.open("a", encoding="ascii") as names:
                names.write(f"{address} {name}\n")
        script = folder / "setup.sh"
        script.write_text(_setup(name, folder, self._names, has_project=has_project), encoding="utf-8")
        words = ["unshare", "-n", "-m", "-u", "-i", "-p", "-f", "--kill-child", "--mount-proc", "bash", str(script)]
        ready = folder / "log" / "ready"
        ready.unlink(missing_ok=True)
        holder = _holder(words, folder / "log" / "init.log")
        # unshare stays outside of the new process namespace; its child is the first process within.
        inner = _child_of(holder.pid)
        cable = f"v{address.rpartition('.')[2]}"
        _ip(self._switch.pid, "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", str(inner))
        _ip(self._switch.pid, "link", "set", cable, "master", "switch", "up")
        _ip(inner, "addr", "add", f"{address}/24", "dev", "eth0")
        _ip(inner, "link", "set", "eth0", "up")
        _ip(inner, "link", "set", "lo", "up")
        _await(ready.exists, f"the host {name} did not start: see {folder}/log/init.log")
        made = Host(name, address, folder, inner, holder, cable, self._switch.pid)
        self.hosts[name] = made
        return made

    def close(self) -> None:
        for host in self.hosts.values():
            host.power_off()
        self._switch.kill()
        self._switch.wait()


@contextlib.contextmanager
def network(folder: Path) -> Iterator[Network]:
    switch = _holder(["unshare", "-n", "bash", "-c", _AWAIT_END], folder / "switch.log")
    made = None
    try:
        _await(lambda: _is_apart(switch.pid), "the switch did not start")
        number = _free_number()
        cable = f"wrt{number}"
        _ip(switch.pid, "link", "add", "switch", "type", "bridge")
        _ip(switch.pid, "link", "set", "switch", "up")
        _ip(switch.pid, "link", "add", "v1", "type", "veth", "peer", "name", cable, "netns", str(os.getpid()))
        _ip(switch.pid, "link", "set", "v1", "master", "switch", "up")
        subprocess.run(["ip", "addr", "add", f"10.213.{number}.1/24", "dev", cable], check=True)
        subprocess.run(["ip", "link", "set", cable, "up"], check=True)
        made = Network(folder, number, switch, cable)
        yield made
    finally:
        if made is not None:
            made.close()
        else:
            switch.kill()
            switch.wait()


# It ends with its standard input, so with whoever started it; as the first process of a host it also buries the dead.
_AWAIT_END = "while read -r _; do :; done"


def _holder(words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True)


def _is_apart(pid: int) -> bool:
    return os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")


def _child_of(pid: int) -> int:
    found: list[int] = []

    def is_there() -> bool:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
        found[:] = [int(word) for word in text.split()]
        return bool(found) and _namespace(found[0]) != _namespace(os.getpid())

    _await(is_there, "a host's first process did not start")
    return found[0]


def _free_number() -> int:
    """Of the networks 10.213.x.0 one that no other run on this machine has."""
    addresses = subprocess.run(["ip", "-o", "addr"], capture_output=True, text=True, check=True).stdout
    taken = {int(number) for number in re.findall(r"10\.213\.(\d+)\.1/", addresses)}
    return next(number for number in ((os.getpid() + step) % 250 for step in range(250)) if number not in taken)


def _setup(name: str, folder: Path, names: Path, *, has_project: bool) -> str:
    """What a host does as it starts: bring in its own Java and Spark, then hide what the machine of the tests has."""
    import pyspark

    disk, kept = shlex.quote(str(folder)), [ROOT, Path(sys.prefix)]
    bases = [] if sys.base_prefix == "/usr" else [Path(sys.base_prefix)]
    hidden = [] if has_project else [*kept, Path.home(), *bases]
    hide = [f"[ ! -d {path} ] || mount -t tmpfs -o size=1m tmpfs {path}" for path in map(shlex.quote, map(str, hidden))]
    save, bring = [], []
    for number, path in enumerate(kept if has_project else ()):
        save.append(f"mkdir /mnt/kept{number}; mount --bind {shlex.quote(str(path))} /mnt/kept{number}")
        bring.append(f"[ -d {path} ] || {{ mkdir -p {path}; mount --bind /mnt/kept{number} {path}; }}")
    lines = [
        "set -e",
        f"hostname {name}",
        "mount -t tmpfs -o size=1m tmpfs /mnt",
        f"mkdir {SPARK_HOME} {JAVA_HOME} /mnt/disk",
        f"mount --bind {shlex.quote(str(Path(pyspark.__file__).parent))} {SPARK_HOME}",
        f"mount --bind {shlex.quote(str(ensure_java(install=False).path))} {JAVA_HOME}",
        f"mount --bind {disk} /mnt/disk",
        *save,
        f"mount --bind {shlex.quote(str(names))} /etc/hosts",
        f"mount --bind {disk}/tmp /tmp",
        *hide,
        *bring,
        "touch /mnt/disk/log/ready",
        "umount /mnt/disk",
        _AWAIT_END,
    ]
    return "\n".join(lines)


def _await(is_so: Callable[[], bool], what: str, seconds: float = _START_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def is_listening(address: str, port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((address, port), 1.0):
        return True
    return False
