"""GLM's types where its headers were not read; sizes and offsets of GLM 1.0.1 under g++ 12."""

import pytest
from conftest import accesses_of


@pytest.mark.parametrize(
    ("kind", "floats"),
    [
        ("glm::vec2", 2),
        ("glm::vec3", 3),
        ("glm::vec<4, float>", 4),
        ("glm::dvec2", 4),
        ("glm::ivec3", 3),
        ("glm::mat3", 9),
        ("glm::mat4x3", 12),
        ("glm::mat<2, 3, float>", 6),
    ],
)
def test_arrays_of_glm_types_have_their_stride(kind, floats):
    text = f"""using V = {kind};
    __global__ void k(float *g) {{
      __shared__ V s[64];
      float *p = (float *)&s[threadIdx.x];
      *p = 1;
    }}"""
    (access,) = accesses_of(text, block_dim=(32, 1, 1))
    expected = max(sum(n * floats % 32 == b for n in range(32)) for b in range(32))
    assert (access.certainty.is_decided, access.wavefronts.mean) == (True, expected)


def test_a_member_lies_at_its_offset():
    text = """__global__ void k(float *g) {
      __shared__ glm::vec4 s[32];
      s[threadIdx.x].z = 1;
    }"""
    (access,) = accesses_of(text, block_dim=(32, 1, 1))
    assert (access.wavefronts.mean, access.patterns[0].addresses[0]) == (4, 8)


@pytest.mark.parametrize("kind", ["glm::vec", "glm::vec<N, float>", "glm::vec5", "glm::qua<float>"])
def test_other_names_are_not_known(kind):
    text = f"""__global__ void k(float *g) {{
      __shared__ {kind} s[32];
      s[threadIdx.x].x = 1;
    }}"""
    (access,) = accesses_of(text, block_dim=(32, 1, 1))
    assert access.wavefronts is None
