"""Compiles kernels: which types each is compiled for, where the result is kept, and when.

A kernel is compiled for exactly the types its annotations name, so `compile_kernels` can do all of
it before a fleet lives: a process that has called it compiles nothing later.

| annotation | compiled as |
|---|---|
| `int`, `float`, `bool` | int64, float64, boolean |
| `NDArray[T]` | one dimension, contiguous, writable |
| `Annotated[NDArray[T], Columns]` | the same in two dimensions |
| `Annotated[NDArray[T], ReadOnly]` | one dimension, contiguous, read only |
| a NamedTuple of arrays | a `Bundle` of what its fields are annotated with |

The cache on disk is kept per version of all these sources: a kernel contains the code of those it
calls, while the compiler would look only at the file the kernel itself stands in.
"""

import gc
import hashlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import Annotated, Any, NamedTuple, Protocol, TypeVar, cast, get_args, get_origin
from typing import get_type_hints as hints_of

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import types as numba_types
from numba.core import cgutils, event, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.config import _OptLevel
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.misc.appdirs import AppDirs
from numba.np.numpy_support import from_dtype

F = TypeVar("F", bound=Callable[..., object])

#: Files of this package with kernels in them; those of a folder are found in it.
_FOLDER = "engine/kernels"
_MODULES = ("compiling.py", "wire/list_walker.py")


class Columns:
    """Marks an array of two dimensions."""


class ReadOnly:
    """Marks an array of one dimension that must not be written to."""


class _Settings(Protocol):
    CACHE_DIR: str
    DISABLE_JIT: int
    LOOP_VECTORIZE: int
    OPT: int


class Dispatcher(Protocol):
    """What numba makes of a function."""

    py_func: Callable[..., object]
    signatures: list[tuple[object, ...]]

    def compile(self, signature: tuple[object, ...]) -> object: ...


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function that Python calls, compiled for one list of types."""

    name: str
    dispatcher: Dispatcher
    arguments: Callable[..., object]

    def compile(self) -> None:
        """Reads it from the cache, or compiles it and keeps the result there."""
        try:
            self.dispatcher.compile(signature_of(self.arguments))
        except OSError:
            # A full disk: what could not be kept is compiled all the same.
            if not self.dispatcher.signatures:
                raise


class Progress(NamedTuple):
    """How far compiling is; `name` is the kernel that was just done."""

    done: int
    total: int
    name: str
    seconds: float


#: Kernels of the modules imported so far; `all_kernels` imports the rest.
_known: list[Kernel] = []


def _sources() -> Iterator[tuple[str, bytes]]:
    package = files("bigfleet")
    for file in sorted(package.joinpath(*_FOLDER.split("/")).iterdir(), key=lambda each: each.name):
        if file.name.endswith(".py"):
            yield f"{_FOLDER}/{file.name}", file.read_bytes()
    for module in _MODULES:
        yield module, package.joinpath(*module.split("/")).read_bytes()


def all_kernels() -> tuple[Kernel, ...]:
    """Imports every module with kernels. Empty where compiling is switched off."""
    for source, _ in _sources():
        import_module("bigfleet." + source.removesuffix(".py").replace("/", "."))
    return tuple(_known)


def signature_of(function: Callable[..., object]) -> tuple[object, ...]:
    hints = hints_of(function, include_extras=True)
    hints.pop("return", None)
    return tuple(_compiled_type(hint) for hint in hints.values())


def _compiled_type(hint: Any) -> object:
    scalars = {int: numba_types.int64, float: numba_types.float64, bool: numba_types.boolean}
    if hint in scalars:
        return scalars[hint]
    if isinstance(hint, type) and issubclass(hint, tuple):
        return Bundle(hint)
    mark: object = None
    if get_origin(hint) is Annotated:
        hint, mark = get_args(hint)
    return numba_types.Array(
        from_dtype(np.dtype(element_of(hint))),
        2 if mark is Columns else 1,
        "C",
        readonly=mark is ReadOnly,
    )


def element_of(array: Any) -> Any:
    """`NDArray[int64]` is `ndarray[shape, dtype[int64]]` on Python 3.11, and an alias later."""
    last = get_args(array)[-1]
    return get_args(last)[0] if get_args(last) else last


# -- bundles of columns ---------------------------------------------------------------------------


class Bundle(numba_types.Type):  # type: ignore[misc]  # numba ships no types
    """A NamedTuple of arrays that a kernel is called with, handed from part to part as one address.

    As a tuple it would be handed on as seven numbers for each array and its references be counted
    wherever it is named: half of all code the compiler sees. The caller keeps the arrays meanwhile.
    """

    def __init__(self, source: type[tuple[Any, ...]]) -> None:
        fields = hints_of(source, include_extras=True)
        self.columns = {name: _compiled_type(hint) for name, hint in fields.items()}
        super().__init__(f"{source.__module__}.{source.__qualname__}")

    def layout(self, context: Any) -> ir.LiteralStructType:
        """Of what stands at the address: the arrays one after the other."""
        return ir.LiteralStructType(
            [context.get_value_type(column) for column in self.columns.values()]
        )


register_model(Bundle)(models.OpaqueModel)


@infer_getattr
class _BundleAttributes(AttributeTemplate):  # type: ignore[misc]
    key = Bundle

    def generic_resolve(self, bundle: Bundle, name: str) -> object:
        return bundle.columns.get(name)


@lower_getattr_generic(Bundle)  # type: ignore[untyped-decorator]
def _column(context: Any, builder: Any, bundle: Bundle, address: Any, name: str) -> object:
    columns = builder.bitcast(address, bundle.layout(context).as_pointer())
    place = list(bundle.columns).index(name)
    return builder.load(cgutils.gep_inbounds(builder, columns, 0, place))


@unbox(Bundle)  # type: ignore[untyped-decorator]
def _from_python(bundle: Bundle, given: Any, c: Any) -> NativeValue:
    # What Numba itself calls for arrays of kernels that count no references: it writes where an
    # array lies, its shape and strides to the given place, takes no reference and checks no type;
    # `type_of` has compared all types before. It is not public: numba is pinned to 0.68, whose
    # C source says so, and another version may come only after a look at it.
    columns = cgutils.alloca_once(c.builder, bundle.layout(c.context))
    adapt_type = ir.FunctionType(ir.IntType(32), [c.pyapi.pyobj, c.pyapi.voidptr])
    adapt = cgutils.get_or_insert_function(c.builder.module, adapt_type, "numba_adapt_ndarray")
    failed = cgutils.false_bit
    for place in range(len(bundle.columns)):
        array = c.pyapi.tuple_getitem(given, place)
        column = cgutils.gep_inbounds(c.builder, columns, 0, place)
        refused = c.builder.call(adapt, [array, c.builder.bitcast(column, c.pyapi.voidptr)])
        failed = c.builder.or_(failed, cgutils.is_not_null(c.builder, refused))
    with c.builder.if_then(failed, likely=False):
        c.pyapi.err_set_string("PyExc_TypeError", f"{bundle.name} has a column without an array")
    return NativeValue(c.builder.bitcast(columns, c.pyapi.voidptr), is_error=failed)


def _know_bundle(source: type[tuple[Any, ...]]) -> None:
    """Calls with such a tuple find what was compiled for its bundle."""
    known = Bundle(source)

    @typeof_impl.register(source)  # type: ignore[untyped-decorator]
    def type_of(value: tuple[Any, ...], context: Any) -> object:
        given = [typeof_impl(column, context) for column in value]
        if given == list(known.columns.values()):
            return known
        # Columns that were not foreseen: compiled for the tuple they are.
        return numba_types.NamedTuple(given, source)


# -- where compiled code is kept ------------------------------------------------------------------


def _version() -> str:
    """Changes with every source of a kernel."""
    digest = hashlib.blake2b(digest_size=8)
    for _, content in _sources():
        digest.update(content)
    return digest.hexdigest()


def _candidates(given: str) -> Iterator[str]:
    """The folder that was named; else beside the code, else in the user's own cache."""
    if given:
        yield given
        return
    yield str(files("bigfleet").joinpath("__pycache__"))
    own = str(AppDirs("bigfleet", False).user_cache_dir)
    if os.path.isabs(own):
        yield own


def writable_folder(given: str, version: str) -> str:
    """Where this version's code is kept, made if need be; empty: it can be kept nowhere."""
    for base in _candidates(given):
        folder = f"{base}/bigfleet-kernels-{version}"
        try:
            os.makedirs(folder, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return ""


_config = cast(_Settings, numba.config)
#: Empty: nothing can be kept, and each process compiles for itself.
CACHE_FOLDER = "" if _config.DISABLE_JIT else writable_folder(_config.CACHE_DIR, _version())
if CACHE_FOLDER:
    _config.CACHE_DIR = CACHE_FOLDER
# Loops over a handful of dimensions gain nothing from vector instructions and full unrolling: with
# these settings a cycle is no slower, and compiling takes a tenth less.
_config.OPT = _OptLevel(1)
_config.LOOP_VECTORIZE = 0
if _config.DISABLE_JIT:
    # As compiled: integers wrap around without a word where kernels mix hashes.
    np.seterr(over="ignore")


# -- how a kernel is compiled ---------------------------------------------------------------------


class _SameFlags(Flags):  # type: ignore[misc]  # numba ships no types
    """Numba looks up every operation of a kernel by its types and by these, and compares them
    option by option: a tenth of all compiling. Equal ones are one object here."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class _KernelFlags(Flags):  # type: ignore[misc]  # numba ships no types
    """Flags that may still change; a copy is what operations are looked up by."""

    __slots__ = ()

    def copy(self) -> _SameFlags:
        return _same_flags.setdefault(self.summary(), _SameFlags(self))


_same_flags: dict[str, _SameFlags] = {}

#: Steps of the compiler for what no kernel has, closures and expressions of whole arrays. Both read
#: through every function to find nothing.
_NOT_NEEDED = (untyped_passes.InlineClosureLikes, typed_passes.NopythonRewrites)


class _KernelCompiler(Compiler):  # type: ignore[misc]  # numba ships no types
    """Compiles plain loops over arrays, and nothing else Numba could."""

    def __init__(self, typing: object, target: object, library: object, *rest: Any) -> None:
        arguments, returned, flags, local = rest
        super().__init__(typing, target, library, arguments, returned, _KernelFlags(flags), local)
        # For each element of an array that is read or written Numba looks for code that is never
        # there, and then through all its own extensions for new ones. This context is a copy that
        # belongs to one function, made a moment ago: there are none.
        self.state.targetctx.refresh = lambda: None

    def define_pipelines(self) -> list[Any]:
        [steps] = super().define_pipelines()
        steps.passes = [each for each in steps.passes if each[0] not in _NOT_NEEDED]
        return [steps]


class _Part(JITCodeLibrary):  # type: ignore[misc]  # numba ships no types
    """Code that is only ever copied into its callers and optimised there. By default it would be
    optimised by itself too, and machine code made of it that nothing can call: a sixth of all
    compiling."""

    def _optimize_final_module(self) -> None:
        """Its callers do."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> "_Part":
        return self

    def set_env(self, name: str, env: object) -> None:
        """There is no machine code that would look for it."""


class _PartCompiler(_KernelCompiler):
    def compile_extra(self, func: Callable[..., object]) -> object:
        self.state.library = _Part(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


# -- the decorators -------------------------------------------------------------------------------


def kernel(function: F) -> F:
    """A loop that Python calls."""
    compiled = numba.njit(
        cache=bool(CACHE_FOLDER), nogil=True, no_cfunc_wrapper=True, pipeline_class=_KernelCompiler
    )(function)
    if not _config.DISABLE_JIT:
        for hint in hints_of(function).values():
            if isinstance(hint, type) and issubclass(hint, tuple):
                _know_bundle(hint)
        name = f"{function.__module__}.{function.__name__}"
        _known.append(Kernel(name, cast(Dispatcher, compiled), function))
    return cast(F, compiled)


def inner(function: F) -> F:
    """A part of kernels that Python never calls: compiled without the way in."""
    compiled = numba.njit(
        nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True, pipeline_class=_PartCompiler
    )(function)
    return cast(F, compiled)


def step(function: F) -> F:
    """An inner part that makes no array and returns none: compiled without counting references,
    which for bundles of columns is a fifth of the work."""
    options = {
        "nogil": True,
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": True,
        "_nrt": False,
        "pipeline_class": _PartCompiler,
    }
    return cast(F, numba.njit(**options)(function))


def copied(function: F) -> F:
    """An inner part copied into its callers before compilation: where a loop calls it so often
    that passing the columns would cost more than the work."""
    return cast(F, numba.njit(nogil=True, inline="always")(function))


def why_not_kept() -> str:
    """Empty: what is compiled is kept on disk for the next process."""
    if CACHE_FOLDER or _config.DISABLE_JIT:
        return ""
    return (
        "compiled kernels cannot be kept: no folder can be written; each start compiles them again "
        "in memory. Set NUMBA_CACHE_DIR to a folder that can be written"
    )


# -- compiling before it is needed ----------------------------------------------------------------


def compile_kernels(told: Callable[[Progress], None] = lambda progress: None) -> Progress:
    """Compiles every kernel, or reads it from the cache; the result is the last that was told.

    Takes seconds without a cache: never call it on an event loop.
    """
    began = time.perf_counter()
    kernels = all_kernels()
    progress = Progress(0, len(kernels), "", 0.0)
    with _garbage_collected_later():
        for done, each in enumerate(kernels, start=1):
            told(progress)
            each.compile()
            progress = Progress(done, len(kernels), each.name, time.perf_counter() - began)
    told(progress)
    if CACHE_FOLDER and not is_complete():
        _mark_complete()
    return progress


@contextmanager
def _garbage_collected_later() -> Iterator[None]:
    """The compiler makes millions of objects and drops few: to look through them as often as usual
    is a tenth of its time, and even once, when it is done, half a second."""
    usual = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # All objects become old ones, which the next full collection looks through.
        gc.freeze()
        gc.unfreeze()
        if usual:
            gc.enable()


def _mark() -> str:
    """Code is compiled for one processor by one compiler: so is what says that it is all there."""
    made_by = f"{numba.__version__} {sys.version} {llvm.get_host_cpu_name()}"
    return f"{CACHE_FOLDER}/complete-{hashlib.blake2b(made_by.encode(), digest_size=8).hexdigest()}"


def is_complete() -> bool:
    """Whether the cache has every kernel for this processor: nothing will be compiled."""
    return bool(_config.DISABLE_JIT) or (bool(CACHE_FOLDER) and os.path.exists(_mark()))


def _mark_complete() -> None:
    # Without the mark the cache is read a second time, no more.
    with suppress(OSError), open(_mark(), "x", encoding="ascii"):
        pass


class _Spent(event.Listener):  # type: ignore[misc]  # numba ships no types
    """Adds up the seconds in which this process compiled, over all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nested: dict[int, int] = {}
        self._began = 0.0
        self._seconds = 0.0

    def on_start(self, event: object) -> None:
        me = threading.get_ident()
        with self._lock:
            if not self._nested:
                self._began = time.perf_counter()
            self._nested[me] = self._nested.get(me, 0) + 1

    def on_end(self, event: object) -> None:
        me = threading.get_ident()
        with self._lock:
            self._nested[me] -= 1
            if not self._nested[me]:
                del self._nested[me]
            if not self._nested:
                self._seconds += time.perf_counter() - self._began

    def seconds(self) -> float:
        with self._lock:
            running = time.perf_counter() - self._began if self._nested else 0.0
            return self._seconds + running


_spent = _Spent()
event.register("numba:compile", _spent)


def seconds_spent() -> float:
    """How long this process has compiled so far, also while it does."""
    return _spent.seconds()
