"""Object files of earlier runs: `helpers.object_files`."""

import os

import pytest

from helpers.object_files import ObjectFiles

MODULE = ("text", "target", 0)


@pytest.fixture
def files(tmp_path):
    return ObjectFiles(tmp_path)


@pytest.fixture
def compiled():
    """The modules that were compiled, by any process of a test."""
    return []


@pytest.fixture
def compile_module(files, compiled):
    def compile_module(text, target, max_effort, *, assembly):
        compiled.append((text, target, max_effort))
        return f"{text} for {target} {max_effort} {assembly}".encode()

    return files.compiling_once(compile_module)


def test_cache_of_object_files_compiles_a_module_once(compile_module, compiled):
    assert compile_module(*MODULE, assembly=False) == compile_module(*MODULE, assembly=False)
    assert compiled == [MODULE]


@pytest.mark.parametrize("variant", [("texts", "target", 0), ("text", "other", 0), ("text", "target", 2)])
def test_cached_object_files_depend_on_module_target_and_effort(compile_module, compiled, variant):
    assert compile_module(*MODULE, assembly=False) != compile_module(*variant, assembly=False)
    assert compiled == [MODULE, variant]


def test_assembly_listings_are_compiled_without_cached_object_files(files, compile_module, compiled):
    compile_module(*MODULE, assembly=True)
    files.is_used = False
    compile_module(*MODULE, assembly=False)
    assert compiled == [MODULE] * 2 and not list(files.folder.iterdir())


def test_damaged_object_files_are_replaced(files, compile_module, compiled):
    code = compile_module(*MODULE, assembly=False)
    (file,) = files.folder.iterdir()
    for damaged in (b"", file.read_bytes()[:-1], file.read_bytes() + b"x"):
        file.write_bytes(damaged)
        assert compile_module(*MODULE, assembly=False) == code
    assert len(compiled) == 4 and compile_module(*MODULE, assembly=False) == code and len(compiled) == 4


def test_the_least_recently_used_object_files_are_removed(files, compile_module, compiled):
    modules = [(f"text {k}", "target", 0) for k in range(4)]
    for k, module in enumerate(modules):
        compile_module(*module, assembly=False)
        for file in files.folder.iterdir():
            if file.stat().st_mtime > 1e6:
                os.utime(file, (k, k))
    compile_module(*modules[0], assembly=False)
    size = sum(file.stat().st_size for file in files.folder.iterdir())
    files.trim(size // 2)
    for module in modules:
        compile_module(*module, assembly=False)
    assert compiled[4:] == modules[1:3]
