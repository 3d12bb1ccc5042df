"""How calls to an API server are signed: a token, a token file, a password, or a plugin.

A token file is read again when the server refuses its token: the kubelet replaces it from time to
time. A plugin is a command that prints a token (client.authentication.k8s.io), as
`aws eks get-token` and `gke-gcloud-auth-plugin` do, in versions v1 and v1beta1. Its token is kept
until shortly before it expires, or until the server no longer takes it; then the command runs
again, once for all calls that wait for it. Client certificates from a plugin are refused with a
sentence: the line would have to be opened anew for each.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Generator, Mapping
from pathlib import Path

import httpx2
import msgspec

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.kube.kubeconfigs import BadKubeconfig, Target
from bigfleet.model.instants import instant_of

_GROUP = "client.authentication.k8s.io"
_VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1", f"{_GROUP}/v1alpha1")
#: A token is not used for its last seconds: the call it is for takes some.
_MARGIN = 30 * SECOND
#: What of the cluster a plugin is told that asks for it.
_TOLD = (
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority-data",
    "proxy-url",
)


class NoCredentials(Exception):
    """A call cannot be signed now; the text says why and what to do."""


class _Variable(msgspec.Struct, frozen=True):
    name: str
    value: str


class Exec(msgspec.Struct, frozen=True, rename="camel"):
    """The `exec` section of a user."""

    api_version: str
    command: str
    args: tuple[str, ...] | None = None
    env: tuple[_Variable, ...] | None = None
    install_hint: str | None = None
    provide_cluster_info: bool = False


class _Credential(msgspec.Struct, rename="camel"):
    token: str = ""
    expiration_timestamp: str = ""
    client_certificate_data: str = ""


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    status: _Credential = msgspec.field(default_factory=_Credential)


def auth_of(target: Target, clock: Clock) -> httpx2.Auth | None:
    """None where the kubeconfig has no credentials, or a client certificate."""
    user = target.user
    if user.token_file:
        return TokenFileAuth(Path(user.token_file))
    if user.token:
        return TokenAuth(user.token)
    if target.exec_section is not None:
        return _exec_auth(target, clock)
    if user.username and user.password:
        return httpx2.BasicAuth(user.username, user.password)
    return None


class TokenAuth(httpx2.Auth):
    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response]:
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


class TokenFileAuth(httpx2.Auth):
    def __init__(self, path: Path) -> None:
        self._path = path
        self._token = ""

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response]:
        self._token = self._token or self._read()
        request.headers["Authorization"] = f"Bearer {self._token}"
        response = yield request
        if response.status_code == 401:
            self._token = self._read()
            request.headers["Authorization"] = f"Bearer {self._token}"
            yield request

    def _read(self) -> str:
        try:
            return self._path.read_text().strip()
        except OSError as problem:
            text = f"the token file {self._path} cannot be read: {problem.strerror}"
            raise NoCredentials(text) from problem


def _exec_auth(target: Target, clock: Clock) -> "ExecAuth":
    where = f"{target.source}: context {target.context_name}: exec"
    try:
        section = msgspec.convert(target.exec_section, Exec)
    except msgspec.ValidationError as problem:
        raise BadKubeconfig(f"{where}: {problem}") from problem
    if section.api_version not in _VERSIONS:
        known = ", ".join(_VERSIONS)
        raise BadKubeconfig(f"{where}: apiVersion {section.api_version} is not one of {known}")
    cluster = target.cluster_section if section.provide_cluster_info else None
    return ExecAuth(section, clock, where, cluster)


class ExecAuth(httpx2.Auth):
    def __init__(
        self,
        section: Exec,
        clock: Clock,
        where: str,
        cluster: Mapping[str, object] | None = None,
    ) -> None:
        self._section = section
        self._clock = clock
        self._where = where
        self._cluster = cluster
        self._token = ""
        self._expires: int | None = None
        self._one_at_a_time = asyncio.Lock()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        used = await self._current("")
        request.headers["Authorization"] = f"Bearer {used}"
        response = yield request
        if response.status_code == 401:
            request.headers["Authorization"] = f"Bearer {await self._current(used)}"
            yield request

    async def _current(self, refused: str) -> str:
        """A token that is not `refused`, from the plugin if need be."""
        async with self._one_at_a_time:
            is_old = self._expires is not None and self._expires - _MARGIN <= self._clock.now()
            if not self._token or is_old or self._token == refused:
                credential = _credential_of(await self._run(), self._section, self._where)
                self._token = credential.token
                self._expires = instant_of(credential.expiration_timestamp)
            return self._token

    async def _run(self) -> bytes:
        section = self._section
        env = {**os.environ, **{v.name: v.value for v in section.env or ()}}
        env["KUBERNETES_EXEC_INFO"] = _exec_info(section, self._cluster)
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                section.command,
                *(section.args or ()),
                env=env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
            )
        except OSError as problem:
            hint = f" {section.install_hint.strip()}" if section.install_hint else ""
            text = f"{self._where}: {section.command} cannot be run: {problem.strerror}"
            raise NoCredentials(f"{text}; install it, or fix the command.{hint}") from problem
        try:
            out, err = await process.communicate()
        except BaseException:
            if process.returncode is None:
                process.kill()
            await process.wait()
            raise
        if process.returncode:
            said = err.decode(errors="replace").strip()[-500:]
            text = f"{self._where}: {section.command} ended with {process.returncode}: {said}"
            raise NoCredentials(text)
        return out


def _exec_info(section: Exec, cluster: Mapping[str, object] | None) -> str:
    spec: dict[str, object] = {"interactive": False}
    if cluster is not None:
        spec["cluster"] = {word: cluster[word] for word in _TOLD if word in cluster}
    info = {"apiVersion": section.api_version, "kind": "ExecCredential", "spec": spec}
    return msgspec.json.encode(info).decode()


def _credential_of(out: bytes, section: Exec, where: str) -> _Credential:
    try:
        found = msgspec.json.decode(out, type=_ExecCredential)
    except msgspec.MsgspecError as problem:
        # Not quoted: it may hold half a token.
        text = f"{where}: {section.command} printed no ExecCredential: {problem}"
        raise NoCredentials(text) from problem
    if found.api_version != section.api_version:
        text = f"{where}: {section.command} printed {found.api_version or 'no apiVersion'}"
        raise NoCredentials(
            f"{text}, the kubeconfig asks for {section.api_version}; make them equal"
        )
    if not found.status.token:
        kind = "a client certificate" if found.status.client_certificate_data else "no token"
        raise NoCredentials(f"{where}: {section.command} gave {kind}; only tokens are supported")
    return found.status
