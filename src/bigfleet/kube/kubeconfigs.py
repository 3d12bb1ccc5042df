"""Which API server, and as whom: a kubeconfig, or the service account of the pod we run in.

Read as kubectl reads it: several files in $KUBECONFIG are merged, the first to define a name wins,
and relative paths are relative to the file that holds them. What our client cannot honour
(auth-provider, impersonation) is refused here rather than left out in silence.
"""

import os
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
import yaml

from bigfleet.model.errors import StartRefused

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
#: A directory without a service account.
_NO_ACCOUNT = Path(os.devnull)
DEFAULT_NAMESPACE = "default"
_DEFAULT_KUBECONFIG = Path(".kube/config")
_PATHS = {
    "cluster": ("certificate-authority",),
    "user": ("tokenFile", "client-certificate", "client-key"),
}
_UNKNOWN_TO_US = ("auth-provider", "as", "as-groups", "as-uid", "as-user-extra")


class BadKubeconfig(StartRefused):
    """No API server can be named from what is there. The text says which file, and what to do."""


class Context(msgspec.Struct, frozen=True):
    cluster: str
    user: str | None = None
    namespace: str | None = None


class User(msgspec.Struct, frozen=True, rename="kebab"):
    """The credentials of a kubeconfig, but for `exec`, which `credentials.py` reads."""

    username: str | None = None
    password: str | None = None
    token: str | None = None
    token_file: str | None = msgspec.field(name="tokenFile", default=None)
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None


class Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str = "http://localhost:8080"
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """A context, resolved: all paths in it are absolute."""

    context_name: str
    namespace: str
    cluster: Cluster
    user: User
    #: Where it was read, for messages.
    source: str
    #: PEM; empty where the system's certificates are trusted.
    ca_bundle: bytes
    #: The `exec` section, as written; None where the credentials are others.
    exec_section: Mapping[str, object] | None = None
    tls_server_name: str = ""
    proxy_url: str = ""
    #: As handed to a credential plugin that asks for it.
    cluster_section: Mapping[str, object] | None = None


Section = TypeVar("Section", Context, User, Cluster)


def target_of(
    kubeconfig: str,
    environ: Mapping[str, str],
    service_account: Path = SERVICE_ACCOUNT,
    context: str = "",
) -> Target:
    """`kubeconfig` "": in-cluster if that is where we are, else $KUBECONFIG or the home's.

    `context` "": the current one of the files.
    """
    if not kubeconfig and not context and (service_account / "token").is_file():
        return _in_cluster(service_account, environ)
    if kubeconfig:
        named = Path(kubeconfig).expanduser()
        return _from_files((named,), "the kubeconfig was to be found", context)
    listed = [part for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if listed:
        found = tuple(p for part in listed if (p := Path(part).expanduser()).is_file())
        return _from_files(found or (Path(listed[0]).expanduser(),), "$KUBECONFIG", context)
    because = "not in a cluster and $KUBECONFIG is not set: looked"
    return _from_files((_of_home(environ),), because, context)


def account_of_person(environ: Mapping[str, str], service_account: Path = SERVICE_ACCOUNT) -> Path:
    """As kubectl finds its way: the pod's own account only where there is no kubeconfig at all."""
    has_files = environ.get("KUBECONFIG") or _of_home(environ).is_file()
    return _NO_ACCOUNT if has_files else service_account


def _of_home(environ: Mapping[str, str]) -> Path:
    return (Path(environ.get("HOME", "~")) / _DEFAULT_KUBECONFIG).expanduser()


def _in_cluster(account: Path, environ: Mapping[str, str]) -> Target:
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise BadKubeconfig(
            f"{account} holds a service account token, but KUBERNETES_SERVICE_HOST or"
            " KUBERNETES_SERVICE_PORT is not set; name a kubeconfig, or run in a pod whose"
            " environment has both"
        )
    ca_file = account / "ca.crt"
    server = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    return Target(
        "in-cluster",
        _namespace_in(account) or DEFAULT_NAMESPACE,
        Cluster(server, certificate_authority=str(ca_file)),
        User(token_file=str(account / "token")),
        str(account),
        _bytes_of(ca_file, f"service account {account}"),
    )


def _namespace_in(account: Path) -> str | None:
    try:
        return (account / "namespace").read_text().strip() or None
    except OSError:
        return None


def _from_files(paths: tuple[Path, ...], because: str, chosen: str) -> Target:
    source = ":".join(str(path) for path in paths)
    conf = _merged([_read(path, because) for path in paths])
    context_name = chosen or conf["current-context"]
    if not context_name:
        names = ", ".join(sorted(conf["contexts"])) or "none"
        raise BadKubeconfig(
            f"{source} has no current-context (contexts there: {names});"
            " choose one with `kubectl config use-context NAME`"
        )
    said = "the context that is asked for" if chosen else "current-context"
    context = _named(conf, "contexts", context_name, f"{source}: {said}")
    where = f"{source}: context {context_name}"
    section = _named(conf, "clusters", context.get("cluster"), f"{where}: cluster")
    user_name = context.get("user")
    user = _named(conf, "users", user_name, f"{where}: user") if user_name else {}
    if refused := [word for word in _UNKNOWN_TO_US if user.get(word)]:
        raise BadKubeconfig(
            f"{where}: user {user_name} uses `{refused[0]}`, which is not supported;"
            " use exec, a token, a token file or a client certificate"
        )
    namespace = _converted(context, Context, where).namespace
    cluster = _converted(section, Cluster, f"{where}: cluster {context.get('cluster')}")
    if not cluster.server.startswith(("https://", "http://")):
        raise BadKubeconfig(f"{where}: server {cluster.server!r} is not an http(s) address")
    return Target(
        context_name,
        namespace or DEFAULT_NAMESPACE,
        cluster,
        _converted(user, User, f"{where}: user {user_name}"),
        source,
        _ca_bundle(cluster, where),
        exec_section=user.get("exec"),
        tls_server_name=str(section.get("tls-server-name") or ""),
        proxy_url=str(section.get("proxy-url") or ""),
        cluster_section=section,
    )


def _read(path: Path, because: str) -> dict[str, Any]:
    try:
        conf = yaml.safe_load(path.read_text())
    except FileNotFoundError as problem:
        text = f"{because} at {path}, and there is no such file"
        raise BadKubeconfig(f"{text}; name one with --kubeconfig or $KUBECONFIG") from problem
    except (OSError, UnicodeDecodeError) as problem:
        raise BadKubeconfig(f"{path} cannot be read: {problem}; check its rights") from problem
    except yaml.YAMLError as problem:
        raise BadKubeconfig(f"{path} is not YAML: {problem}") from problem
    if not isinstance(conf, dict) or not isinstance(conf.get("contexts") or [], list):
        raise BadKubeconfig(f"{path} is not a kubeconfig: it has no list of contexts")
    return {
        "current-context": conf.get("current-context"),
        "contexts": _by_name(conf, "contexts", "context", path),
        "clusters": _by_name(conf, "clusters", "cluster", path),
        "users": _by_name(conf, "users", "user", path),
    }


def _by_name(conf: dict[str, Any], plural: str, singular: str, path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for row in conf.get(plural) or ():
        body = row.get(singular) if isinstance(row, dict) else None
        if not isinstance(body, dict) or "name" not in row:
            if isinstance(row, dict) and "name" in row and body is None:
                body = {}  # a user without credentials
            else:
                raise BadKubeconfig(f"{path}: an entry of {plural} has no name or no {singular}")
        whole = dict(body)
        for word in _PATHS.get(singular, ()):
            if whole.get(word):
                whole[word] = str(path.parent.absolute() / str(whole[word]))
        if isinstance(section := whole.get("exec"), dict) and "/" in str(section.get("command")):
            command = str(path.parent.absolute() / str(section["command"]))
            whole["exec"] = {**section, "command": command}
        found.setdefault(str(row["name"]), whole)
    return found


def _merged(confs: list[dict[str, Any]]) -> dict[str, Any]:
    whole: dict[str, Any] = {"current-context": None, "contexts": {}, "clusters": {}, "users": {}}
    for conf in confs:
        whole["current-context"] = whole["current-context"] or conf["current-context"]
        for plural in ("contexts", "clusters", "users"):
            whole[plural] = {**conf[plural], **whole[plural]}
    return whole


def _named(conf: dict[str, Any], plural: str, name: object, where: str) -> dict[str, Any]:
    found = conf[plural].get(name)
    if found is None:
        names = ", ".join(sorted(conf[plural])) or "none"
        raise BadKubeconfig(f"{where} is {name}, which is not among the {plural} ({names})")
    return cast("dict[str, Any]", found)


def _converted(section: dict[str, Any], into: type[Section], where: str) -> Section:
    try:
        return msgspec.convert(section, into)
    except msgspec.ValidationError as problem:
        raise BadKubeconfig(f"{where}: {problem}") from problem


def _ca_bundle(cluster: Cluster, where: str) -> bytes:
    if cluster.certificate_authority_data:
        try:
            return b64decode(cluster.certificate_authority_data, validate=True)
        except NotBase64 as problem:
            text = f"{where}: certificate-authority-data is not base64: {problem}"
            raise BadKubeconfig(text) from problem
    if cluster.certificate_authority:
        return _bytes_of(Path(cluster.certificate_authority), where)
    return b""


def _bytes_of(path: Path, where: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise BadKubeconfig(f"{where}: {path} cannot be read: {problem.strerror}") from problem
