"""Numba's compiler without the work that kernels do not need, based on private classes of Numba as ``jit_cache`` is.

Numba optimizes each function that a kernel calls, generates its machine code, wraps it for Python, and optimizes it
again within each caller.  Here a called kernel, a part, stays LLVM code until it is linked into the kernel that Python
calls.  It is compiled on its own only if Python calls it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from types import CodeType
from typing import Any

import numba
import numpy as np
from llvmlite import binding as llvm
from llvmlite.binding import ffi, newpassmanagers
from numba.core import errors, types
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.target_extension import cpu_target, dispatcher_registry
from numba.core.untyped_passes import InlineClosureLikes
from numba.np import numpy_support

from fastmetrics.core.process.call_room import with_room

COMPILES_PART: ContextVar[bool] = ContextVar("compiles a kernel that another one calls", default=False)


_PASS_BY_PASS = hasattr(JITCPUCodegen, "_pass_builder") and hasattr(
    newpassmanagers.FunctionPassManager, "add_sroa_pass"
)
"""Whether Numba lets one choose the passes of LLVM; Numba 0.61 does not, and optimizes parts as it does by itself."""


class KernelLibrary(JITCodeLibrary):
    """The LLVM code of a kernel; that of a part has neither machine code nor an environment for exceptions."""

    def __init__(self, codegen: Any, name: str, *, is_part: bool) -> None:
        super().__init__(codegen, name)
        self.is_part = is_part
        self.enable_object_caching()

    @property
    def codegen(self) -> Any:
        """What sets the environment of a function: this library for a part, since no machine code refers to it."""
        return self if self.is_part else self._codegen

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing, for a part."""

    def get_pointer_to_function(self, name: str) -> int:
        """The address of a function, 0 in a part."""
        return 0 if self.is_part else super().get_pointer_to_function(name)

    def serialize_using_object_code(self) -> Any:
        """What the cache stores; the machine code of a part is empty."""
        if not self.is_part:
            return super().serialize_using_object_code()
        return self.name, "object", (b"", self._get_module_for_linking().as_bitcode())

    def _optimize_functions(self, module: Any) -> None:
        """Bring values into registers and drop dead code; the passes over the module do the rest."""
        if not _PASS_BY_PASS:
            super()._optimize_functions(module)
            return
        module.data_layout = self._codegen._data_layout
        builder = self._codegen._pass_builder()
        passes = newpassmanagers.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_dead_code_elimination_pass()
        passes.add_refprune_pass()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        """Optimize a kernel; of a part, drop the addresses that no code reads, which would keep it out of the cache."""
        if not (self.is_part and _PASS_BY_PASS):
            super()._optimize_final_module()
            return
        passes = newpassmanagers.create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(self._final_module, self._codegen._pass_builder())

    def _finalize_final_module(self) -> None:
        if not self.is_part:
            super()._finalize_final_module()
            return
        self._finalize_dynamic_globals()
        self._finalized = True


def stored_part(context: Any, name: str, bitcode: bytes, described: Any, environment: Any, signature: Any) -> Any:
    """A part of kernels that the cache stored as ``bitcode``."""
    library = KernelLibrary(context.codegen(), name, is_part=True)
    library._get_module_for_linking = cache(partial(llvm.parse_bitcode, bitcode))
    library._finalized = True
    return compile_result(
        target_context=context,
        typing_context=context.typing_context,
        library=library,
        entry_point=context.get_executable(library, described, environment),
        environment=environment,
        fndesc=described,
        signature=signature,
        objectmode=False,
        reload_init=(),
    )


class KernelCompiler(Compiler):
    """Numba's compiler, with the library of a kernel."""

    def define_pipelines(self) -> Any:
        """Numba's passes; a part needs no function for calls from Python."""
        is_part = COMPILES_PART.get()
        self.state.flags.no_cpython_wrapper = is_part
        self.state.library = KernelLibrary(
            self.state.targetctx.codegen(), self.state.func_id.func_qualname, is_part=is_part
        )
        pipelines = super().define_pipelines()
        if not any(isinstance(constant, CodeType) for constant in self.state.func_id.code.co_consts):
            for pipeline in pipelines:
                pipeline.passes[:] = [step for step in pipeline.passes if step[0] is not InlineClosureLikes]
        return pipelines


class LinkedDispatcher(CPUDispatcher):
    """A function by the types of its arguments, which is a part of the kernels that call it."""

    def __init__(self, py_func: Callable[..., Any], **options: Any) -> None:
        super().__init__(py_func, **options | {"pipeline_class": KernelCompiler})

    def _compilation_chain_init_hook(self) -> None:
        """Load no extensions of Numba: to find any, it reads the metadata of all packages."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The type of a call in a kernel."""
        token = COMPILES_PART.set(True)
        try:
            return super().get_call_template(args, kws)
        finally:
            COMPILES_PART.reset(token)

    def add_overload(self, compiled: Any) -> None:
        """Register a compiled function, for calls from Python unless it is a part."""
        if _is_part(compiled):
            self.overloads[tuple(compiled.signature.args)] = compiled
        else:
            super().add_overload(compiled)


class KernelDispatcher(LinkedDispatcher):
    """A kernel by the types of its arguments."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        options |= {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=options)

    def typeof_pyval(self, val: Any) -> Any:
        """The type of an argument of a call from Python."""
        type_ = _type_of(val)
        caller: Any = self
        caller._types_active_call.add(type_)
        return type_

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The type of a call in another kernel, whose literal numbers count as any number of their type."""
        return super().get_call_template([types.unliteral(argument) for argument in args], kws)

    def compile(self, signature: Any) -> Any:
        """Compile the kernel for the types ``signature``, or load it from the cache."""
        cached: Any = self
        with global_compiler_lock:
            try:
                if COMPILES_PART.get():
                    return super().compile(signature)
                compiled = self.overloads.get(signature)
                if compiled is not None and _is_part(compiled):
                    del self.overloads[signature]
                with _plain_messages(), _without_lock_events(), _numba_in_parts():
                    return with_room(super().compile, signature)
            finally:
                cached._cache.end_turn()


def _type_of(value: Any) -> Any:
    """The type of an argument; Numba would import ``numpy.ma`` to see that an array has no mask."""
    if type(value) is np.ndarray:
        dtype, layout = numpy_support.from_dtype(value.dtype), numpy_support.map_layout(value)
        return types.Array(dtype, value.ndim, layout, readonly=not value.flags.writeable)
    if isinstance(value, tuple):
        return types.BaseTuple.from_types([_type_of(item) for item in value], type(value))
    return numba.typeof(value)


@contextmanager
def _numba_in_parts() -> Iterator[None]:
    """Within this block, Numba's own functions, such as ``np.zeros``, become parts of the kernels that call them."""
    before = dispatcher_registry[cpu_target]
    dispatcher_registry.update({cpu_target: LinkedDispatcher})  # it refuses to set an item again
    try:
        yield
    finally:
        dispatcher_registry.update({cpu_target: before})


@contextmanager
def _plain_messages() -> Iterator[None]:
    """Numba's messages without colours: it makes thousands while it compiles, of types that it tries and rejects."""
    colours: Any = type(errors.termcolor())
    before = getattr(colours, "_markup", None)
    colours._markup = lambda self, msg, *_: msg
    try:
        yield
    finally:
        if before is None:
            del colours._markup
        else:
            colours._markup = before


@contextmanager
def _without_lock_events() -> Iterator[None]:
    """Within this block, Numba measures no times of the lock of LLVM, which is taken for each of its calls."""
    callbacks: Any = ffi.lib._lock._cblist
    before = callbacks[:]
    callbacks.clear()
    try:
        yield
    finally:
        callbacks[:] = before


def _is_part(compiled: Any) -> bool:
    return isinstance(compiled.library, KernelLibrary) and compiled.library.is_part
