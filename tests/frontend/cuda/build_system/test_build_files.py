"""CMakeLists.txt and setup.py: literal flags count, computed ones do not."""

from __future__ import annotations

import pytest

from smemlint.frontend.cuda.build_system import cmake, setup_py
from smemlint.frontend.cuda.build_system.flags import BuildFlags
from smemlint.frontend.cuda.build_system.lookup import build_of


@pytest.mark.parametrize(
    ("text", "defines"),
    [
        ("add_compile_definitions(A B=2)", {"A": "1", "B": "2"}),
        ('add_definitions(-DA "-DB=2") # -DC', {"A": "1", "B": "2"}),
        ('set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} -O3 -DA=4")', {"A": "4"}),
        ('string(APPEND CMAKE_CUDA_FLAGS " -DA=4")', {"A": "4"}),
        ("if(X)\nadd_definitions(-DA)\nendif()\nadd_definitions(-DB)", {"B": "1"}),
        ("function(f)\nadd_definitions(-DA)\nendfunction()", {}),
        ("add_definitions(-DA=${N})", {}),
        ("add_executable(t src/k.cu)\ntarget_compile_definitions(t PRIVATE A)", {"A": "1"}),
        ("add_library(t STATIC ${CMAKE_CURRENT_SOURCE_DIR}/src/k.cu)\ntarget_compile_options(t PUBLIC -DA)", {"A": "1"}),
        ("add_executable(t other.cu)\ntarget_compile_definitions(t PRIVATE A)", {}),
        ("#[[ add_definitions(-DA) ]] add_definitions([[-DB]])", {"B": "1"}),
        ("set(N 16)\nset(D A=${N})\nadd_definitions(-D${D} -DB=${M})", {"A": "16"}),
        ("set(N 16)\nif(X)\nset(N 32)\nendif()\nadd_definitions(-DA=${N})", {}),
        ("set(N 16 CACHE STRING n)\nadd_definitions(-DA=${N})", {}),
        ("foreach(N 1 2)\nendforeach()\nadd_definitions(-DA=${N})", {}),
        ("set(S src/k.cu src/l.cu)\nadd_library(t ${S})\ntarget_compile_options(t PUBLIC -DA)", {"A": "1"}),
        ("add_definitions(-DA", {}),
        ("add_definitions(-DA) x(" + '"\\"' * 200_000, {"A": "1"}),
        ("add_definitions(-DA) x(" + "[[" * 200_000, {"A": "1"}),
    ],
)  # fmt: skip
def test_cmake(text, defines):
    assert cmake.flags_for(text, "src/k.cu") == BuildFlags(defines)


def test_folders_of_cmake():
    text = "include_directories(SYSTEM ${CMAKE_CURRENT_SOURCE_DIR}/inc ${CUDA} third)"
    assert cmake.flags_for(text, "k.cu").include_dirs == ("inc", "third")


@pytest.mark.parametrize(
    ("beside", "above", "folders"),
    [
        ("add_executable(k k.cu)", "project(p)\ninclude_directories(${CMAKE_SOURCE_DIR}/inc)", ("p/inc",)),
        ("include_directories(${PROJECT_SOURCE_DIR}/inc own)", "project(p)", ("p/inc", "p/a/own")),
        ("include_directories(own)", "project(p)\ninclude_directories(inc)", ("p/a/own", "p/inc")),
        ("project(a)\ninclude_directories(own)", "project(p)\ninclude_directories(inc)", ("p/a/own",)),
        ("set(I ${CMAKE_CURRENT_SOURCE_DIR} ../x)\ninclude_directories(${I})", "", ("p/a", "p/x")),
    ],
)  # fmt: skip
def test_folders_of_cmake_files_around_each_other(beside, above, folders):
    texts = {"p/a/CMakeLists.txt": beside, "p/CMakeLists.txt": above}
    assert build_of("p/a/k.cu", "", texts.get).flags.include_dirs == folders
    texts["p/a/Makefile"] = "INC = -I../m -I$(CUDA)/inc\nk: k.cu\n\tnvcc $(INC) -I n k.cu"
    flags = build_of("p/a/k.cu", "", texts.get).flags
    assert flags.include_dirs == ("p/a/../m", "p/a/n", *folders)


SETUP = """\
from torch.utils.cpp_extension import CUDAExtension
FLAGS = ["-O3", "-DA=2"]
setup(ext_modules=[
    CUDAExtension("x", sources=["src/k.cu"], include_dirs=["inc", here()],
                  define_macros=[("M", None), ("N", "3")],
                  extra_compile_args={"cxx": ["-DC"], "nvcc": FLAGS + ["-DB", version()]}),
    CUDAExtension("y", ["src/other.cu"], extra_compile_args=["-DD"]),
])
"""


def test_setup_py():
    found = setup_py.flags_for(SETUP, "src/k.cu")
    assert found.defines == {"A": "2", "B": "1", "M": "1", "N": "3"}
    assert found.include_dirs == ("inc",)
    assert setup_py.flags_for(SETUP, "src/none.cu") == BuildFlags()
    assert setup_py.flags_for("def", "k.cu") == BuildFlags()


def test_the_nearest_file_counts():
    texts = {"CMakeLists.txt": "add_definitions(-DA)", "a/setup.py": SETUP}
    assert build_of("a/src/k.cu", "", texts.get).origin == "setup.py"
    assert build_of("a/k.cu", "", texts.get).origin == "CMakeLists.txt"
    folder = build_of("a/src/k.cu", "", texts.get).flags.include_dirs
    assert folder == ("a/inc",)
    texts["a/src/Makefile"] = "CFLAGS = -DB"
    assert build_of("a/src/k.cu", "", texts.get).flags.defines == {"B": "1"}
    assert build_of("/other/k.cu", "", texts.get).origin == ""
