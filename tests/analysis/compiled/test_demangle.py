"""Names of kernels; the spellings are those of c++filt (GNU Binutils 2.40), without qualifiers."""

from __future__ import annotations

import pytest

from smemlint.analysis.compiled.demangle import kernel_name, variable_name

SCAN = "_Z20BlockPrefixSumKernelILi128ELi8ELN3cub17CUB_300001_SM_90018BlockScanAlgorithmE{}EEvPKiPi"


@pytest.mark.parametrize(
    ("mangled", "name", "arguments"),
    [
        ("plain", "plain", ()),
        ("_Z7reduce6IiLj256ELb1EEvPT_S1_j", "reduce6", ("int", "256", "true")),
        ("_Z1kILin3EEvv", "k", ("-3",)),
        ("_Z20BlockPrefixSumKernelILi128ELi8ELN3cub1AE2EEvv", "BlockPrefixSumKernel",
         ("128", "8", "2")),
        ("_Z1kIN2ns5OuterIfE5InnerEEvv", "k", ("Inner",)),
        ("_Z1kI6traitsILi16E5pointES0_IiEEvv", "k", ("traits<16, point>", "traits<int>")),
        ("_Z1kIJifS_EEvv", "k", ("int", "float", "k")),
        ("_Z1kIPKfRdEvv", "k", ("const float*", "double&")),
        ("_ZN12_GLOBAL__N_13runIfLi2EEEvPT_", "run", ("float", "2")),
        ("_ZN7cutlass6KernelINS_4gemm4GemmINS_5ShapeILi8EEES4_EEEEvNT_6ParamsE", "Kernel",
         ("Gemm<Shape<8>, Shape<8>>",)),
        ("_Z1kIZ4mainEUliE_EvT_", "k", ("lambda(int)#",)),
        ("_Z1kIXadL_Z1fvEEEvv", "k", ("..",)),
        ("_ZL1kILi", "k", ("..",)),
    ],
)  # fmt: skip
def test_names_and_arguments(mangled: str, name: str, arguments: tuple[str, ...]) -> None:
    assert kernel_name(mangled) == (name, arguments)


def test_instances_that_differ_in_an_enumerator_have_names_of_their_own() -> None:
    assert len({kernel_name(SCAN.format(i)) for i in range(3)}) == 3


def test_long_arguments_that_begin_alike_stay_apart() -> None:
    names = [kernel_name(f"_Z1kI{'P' * 70}{letter}Evv") for letter in "if"]
    assert names[0] != names[1]
    long = [kernel_name(f"_Z1kI1aI{'1b' * 40}Li{i}EEEvv")[1][0] for i in (1, 2)]
    assert long[0] != long[1]
    assert all(len(text) < 80 for text in long)


@pytest.mark.parametrize("text", ["_Z", "_ZN", "_Z1kI" + "P" * 9000, "_Z1kIS9_E", "_Z99999x"])
def test_text_that_cannot_be_read_ends_nothing(text: str) -> None:
    assert kernel_name(text)[0]


def test_variables_of_functions() -> None:
    assert variable_name("_ZZ6kernelvE4tile") == "tile"
    assert variable_name("_ZN2ns5tableE") == "table"
