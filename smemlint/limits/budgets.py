"""Every limit on the work that hostile input can cause, with its reason; modules import them.

What is counted is the same on every machine, so a result never depends on the clock. Where a limit
strikes, SML901 names the place, and how much was left where that is a number; or the value that was
too large is unknown, and so is what depends on it. Facts of the hardware, of a file format or of a
compiler are no budgets and stand where they are used.
"""

from __future__ import annotations

# ---- one file, all phases together

STEPS_PER_SECOND = 40_000
"""Of the option `time-limit`: measured on ggml-org/ggml, 52,000 to 86,000 on a loaded machine."""
CLOCK_FACTOR = 2
"""Of the time limit: a busy machine takes longer for the same steps, and must report the same."""
MAX_MEMORY_BYTES = 4 << 30
"""Memory that the work on one file may take besides what the process has."""
TASK_PATIENCE = 4
"""Times the time that a task allows itself: what takes longer does not notice and is ended."""

# ---- files and documents

MAX_FILE_BYTES = 8 << 20
"""Of a source, and of what it names; larger files are not read, with a note."""
MAX_COMPILED_BYTES = 64 << 20
"""Of PTX, SASS and cubins: compilers write much."""
MAX_LINE_TABLE = 4 << 20
"""Bytes of the line table of a cubin; what stands behind them begins no call."""
MAX_SECTIONS = 1 << 16
"""Of a cubin."""
MAX_METADATA_BYTES = 1 << 20
"""Of the JSON that Triton writes beside a kernel."""
MAX_TTGIR_BYTES = 4 << 20
"""Of the TTGIR that it writes there."""
MAX_TTGIR_DEPTH = 64
"""Locations that one location names, and bodies of operations within one another."""
MAX_CONFIG_BYTES = 1 << 20
"""Of a configuration file."""
MAX_BUILDS = 4
"""Of one file, with other flags: each is a run of its own; a note counts the others."""
MAX_EXTENDED_CONFIGS = 8
"""Configuration files that one leads to by `extend`."""
MAX_LIST = 500
"""Items of a list in it: every path is compared with every glob."""
MAX_LIST_ITEM = 1_000
"""Characters of such an item."""
MAX_BASELINE_BYTES = 64 << 20
"""Of a baseline: some 100 bytes a finding."""
MAX_DOCUMENT_DEPTH = 50
"""Of a dotted key, and of tables or arrays inside one another: parsers take its square."""
MAX_CACHE_ENTRIES = 64
"""Files that are kept in one cache folder, the youngest ones."""
MAX_CACHE_BYTES = 128 << 20
"""Of a cache entry: a larger one is neither written nor read, not even to check its seal."""
MAX_GIT_SECONDS = 60
"""That `git ls-files` may take; afterwards the folder is walked, with a note."""
MAX_GITIGNORE_BYTES = 1 << 18
"""Of one .gitignore file."""
MAX_PATTERN_LENGTH = 1_000
"""Characters of a pattern in it."""
MAX_IGNORE_PATTERNS = 20_000
"""Of all .gitignore files of a tree: compiling one takes 100 microseconds."""
MAX_IGNORE_WORK = 1 << 26
"""Of matching all paths of a tree, see `Rules.work`: some ten seconds."""
MAX_BUILD_NAMES = 10_000
"""Entries of a folder that are looked at for `build*`."""
MAX_BUILD_COMMANDS = 20_000
"""Commands of a CMakeLists.txt that are read."""
MAX_BUILD_ARGUMENTS = 20_000
"""Arguments of a compiler's command line."""
MAX_BUILD_ENTRIES = 50_000
"""Entries of a compile_commands.json."""
MAX_BUILD_FOLDERS_UP = 6
"""Above a source, where build files are looked for; the sandbox ends it at the root."""
MAX_PROGRAM_MESSAGE = 1 << 16
"""Bytes of a program's error messages that are kept."""
MAX_LSP_MESSAGE = 64 << 20
"""Bytes of a message: a document of the size limit of files, every character of it escaped."""
MAX_LSP_HEADER = 1_000
"""Bytes of a line before a message."""
MAX_NEIGHBOURS = 500
"""Files of a document's folder that the editor looks at; the first ones by name."""
MAX_REMEMBERED_NUMBERS = 4_000_000
"""In the kernels, and in the runs of host code, that the editor remembers: some 150 MB each."""

# ---- values of any language

MAX_TEXT = 1 << 20
"""Characters of a text; longer ones are not followed."""
MAX_ITEMS = 4_096
"""Of a sequence that is worked out."""
MAX_PIECES = 1 << 14
"""Of a text that is put together: each is gone through for every part that is cut out."""
MAX_NUMBER_BITS = 4_096
"""Of a number; Python writes no more than 4,300 decimal digits."""
MAX_LEAVES = 1 << 16
"""Of all sequences inside one another: what is compared or copied as one value."""

# ---- reading CUDA

MAX_TOKENS = 3_000_000
"""Of a file; the rest is not read, with a note."""
MAX_LITERAL_CHARACTERS = 4_096
"""Of an integer; Python reads a few more digits before it refuses."""
MAX_INCLUDED_TOKENS = 3_000_000
"""Of all includes of a unit; of further ones only macros are read, with a note."""
MAX_INCLUDES = 4_000
"""Of a unit, each as often as it is included."""
MAX_INCLUDE_DEPTH = 64
"""Of includes in includes; nvcc takes 200."""
MAX_INCLUDE_FOLDERS_UP = 9
"""Above the main file, where quoted includes are looked for."""
MAX_CACHED_CHARACTERS = 6_000_000
"""Of included files that are kept as tokens, which take about 25 bytes a character."""
MAX_EXPANDED_TOKENS = 1_000_000
"""Of included files whose macros are expanded, that are kept for other units: 100 MB."""
MAX_CACHED_DEFINITIONS = 1_024
"""Macros of command lines that are kept for other units."""
MAX_TOKENS_PER_CALL = 1_000_000
"""That one macro call in the source may make or read on the way."""
MAX_TOKENS_OF_MACROS = 4_000_000
"""The same for all calls of a unit together."""
MAX_MACRO_ARGUMENT_DEPTH = 40
"""Of calls in arguments of calls; deeper ones are expanded afterwards, in a loop."""
MAX_MACRO_NESTING = 200
"""Of macros that make calls of macros."""
MAX_LAUNCHED_NAME = 600
"""Characters in front of a launch that its kernel and the template arguments are looked for in."""
MAX_KEPT_TEXTS = 256
"""Files whose words outside of comments are remembered, for searches of other words in them."""
MAX_CONDITION_TOKENS = 400
"""Of an `#if`; a longer condition is not known. It also bounds the depth of a parsed one."""
MAX_CONDITION_DEPTH = 60
"""Of operators in an `#if`."""
MAX_CONDITIONS = 12
"""That are assumed around one place and named."""
MAX_BRANCHES = 24
"""Of a chain of `#elif` that are looked through for one to read; kernels in others are named."""
MAX_DIRECTIVES = 200
"""Of a branch, that are looked through for the macros that it defines."""
MAX_CHAINS = 20
"""Of `#if` in `#if`: what stands deeper in a branch that is not read counts as readable."""
MAX_TOKENS_TO_NAME = 200
"""From `__global__` to the name of a kernel in a branch that is not read."""
MAX_NOTICES = 50
"""Places of a unit that are named one by one; the next one has the number of the others."""
MAX_KERNEL_STRINGS = 50
"""Texts in strings of a file of C++, or of Python that nothing known compiles; others are named."""
MAX_SCAN_NOTICES = 20
"""The same for brackets without a partner and scopes that are too deep."""
MAX_ANGLES = 3_000
"""Tokens between `<` and `>` of template arguments."""
MAX_COMPARISONS = 50
"""Of `<` that begin no template arguments in one list; then no further one is tried."""
MAX_DECLARED_DEFAULTS = 64
"""Declarations with default arguments of one name and scope; definitions are compared with all."""
MAX_LOST_BRACKETS = 16
"""Open brackets of the other kind that a closing bracket may end."""
MAX_HEAD = 4_000
"""Tokens before a `{` that are looked at for what it opens; earlier ones are macro calls."""
MAX_RESULT_TYPE = 64
"""Tokens of a result type and qualification, in front of a name."""
MAX_SCOPES = 100
"""Of namespaces in namespaces; deeper ones are not read, with a note."""
MAX_RECORDS = 20
"""Of records in a record that are cut out of its text one by one."""
MAX_BRACKETS = 256
"""Brackets in brackets of an expression; clang's -fbracket-depth is the same."""
MAX_TOKENS_BEFORE = 200
"""Of a macro's replacement, that may stand before one of its arguments."""
MAX_SMALL_DROPS = 16
"""Statements of one function that are replaced alone; later ones go with all that encloses them."""
MAX_DROPS = 32
"""After that many the function is given up."""
MAX_TOKENS_AGAIN = 1_000_000
"""Tokens that are parsed again after errors before the function is given up."""

# ---- reading PTX

MAX_FUNCTIONS = 20_000
"""Of a module."""
MAX_STATEMENTS = 400_000
"""Of one function; larger ones are not analysed, with a note."""
MAX_OPERAND_DEPTH = 8
"""Of braces in operands."""
MAX_FRAMES = 64
"""Levels of inlining that are kept."""

# ---- which units and launches there are

MAX_MAIN_FILES = 3
"""Translation units that one file is evaluated in; launches of others are looked for."""
MAX_UNIT_CHARACTERS = 20_000_000
"""Of units that the editor keeps."""
MAX_EARLIER_CHARACTERS = 3_000_000
"""Of units that earlier tasks read, at some 20 bytes each: in CUTLASS 4 of 104 are asked for."""
MAX_FOLDERS_UP = 3
"""Above an include that is not found, beside which the folder that holds it is looked for."""
MAX_FILES_ELSEWHERE = 4
"""Of other folders, that are looked into for a launch."""
MAX_LINKED_FILES = 6
"""Whose units are read since they name a kernel, or a function that launches it."""
MAX_LINKED_CHARACTERS = 30_000_000
"""Of units whose host code is looked through for launches: some 1 GB of memory."""
MAX_CALLERS_UP = 7
"""Levels of callers above a function that launches."""
MAX_LAUNCHING_BESIDE = 4
"""Functions that launch and that one calls, which are run together for the kernels of each."""
MAX_WRITTEN_CALL = 4_000
"""Characters of a call's arguments that are looked through for what they tell."""
MAX_CALLED = 200
"""Functions looked through for `threadIdx.y`: more are a library's."""
MAX_HOST_STEPS = 10_000
"""Statements of one host function; launches behind them are not known, with a note."""
MAX_STEPS_TO_ARGUMENTS = 4_000
"""Statements of the callers of a launch that are executed to learn what it passes.

Arguments that settled an access of 10 trees took up to 1,700; others took up to 45,000 for nothing.
"""
MAX_HOST_TRIPS = 12
"""Iterations of a loop of host code; longer ones are widened."""
MAX_LIST_ELEMENTS = 32
"""Elements of a list of host code that grows; what a longer one holds is not known."""
MAX_HOST_PATHS = 16
"""Ways through all open choices of a host function; where there are more, none is taken."""
MAX_HELPER_WORDS = 40
"""Different words of a function that is still taken for a small helper."""
MAX_HELPER_STEPS = 150
"""Statements of one call of a function that launches nothing."""
MAX_CONSTANT_STEPS = 2_000
"""Statements of one call that the compiler evaluates, of a `constexpr` function with constants."""
MAX_SWITCHED = 8
"""Operations on a switched number that are followed: each one looks at both of its operands."""
MAX_TENSOR_MAP_STEPS = 5_000
"""Statements of a host function that encodes tensor maps."""
MAX_INSTANTIATIONS = 6
"""Of one function that are run."""
MAX_INSTANCES = 24
"""Of one kernel that are evaluated."""
MAX_STEPS_OF_INSTANCES = 30_000
"""Statements after which no further instance of a kernel is evaluated."""
MAX_FURTHER_LAUNCHES = 7
"""Of one block and template, that pass other numbers where accesses hang on them."""
MAX_STEPS_TO_AGREE = 10_000
"""Statements after which instances of a family are left once two of it agreed."""
MAX_HOPELESS = 4
"""Instances of a kernel, none of whose accesses was decided, after which the others are left."""

# ---- executing CUDA for all threads

MAX_STEPS = 60_000
"""Statements of one instance."""
MAX_IDLE_STEPS = 10_000
"""Statements in a row without a shared access at a known address, after which a kernel is left."""
MAX_STEPS_OF_SHARES = 30_000
"""Statements of an instance that ran out of them, evaluated again with a share for each loop."""
MAX_TRIPS = 1_100
"""Iterations of a loop with known bounds that are executed; longer ones are widened."""
MAX_FORESEEN = 8
"""Times as many iterations are counted from a loop's header as are run."""
MAX_SUMMED = 32
"""Unknowns in one integer; one stands for more, which no address has."""
MAX_BUFFERS = 4
"""Arrays of which a pointer may be into any, as those that a pipeline swaps."""
MAX_WIDENINGS = 4
"""Attempts to find what a loop with unknown bounds changes."""
MAX_EVENTS = 200_000
"""Shared accesses of one instance."""
MAX_WORLDS = 64
"""Residues of unknowns that one kernel is evaluated under, all together."""
MAX_STEPS_TO_SPLIT = 60_000
"""Statements that all those evaluations may run together."""
MAX_EVENTS_TO_SPLIT = 20_000
"""Accesses of a kernel that is evaluated under residues."""
MAX_RESIDUES = 16
"""Of the addresses of one pattern."""
MAX_SPLIT = 64
"""Residues of one unknown that are enumerated at the most."""
MAX_COPY_CLASSES = 128
"""Pairs of residues of both sides of an asynchronous copy."""
MAX_FORWARDED = 64
"""Accesses of inline PTX that registers hold, of a loop, and in front of a load."""
MAX_HELD = 160
"""Places of an array that registers hold: two rows of 64 words and some more."""
MAX_EFFECTS = 64
"""Shuffles and the like before an access, latest first, among which one of its ways is sought."""
MAX_SUNK = 64
"""Branches in branches that a load is sunk into: each reads what it holds."""
MAX_PARTS_READ = 32
"""Places of a variable that is loaded whole, of which more are taken for all of it."""
MAX_STORES_OF_LOOP = 32
"""Stores of a loop that are compared with what registers hold in front of it."""
MAX_SUMS = 20_000
"""Sums of one evaluation that later ones are compared with; LLVM looks back over 50."""
MAX_UNKNOWNS_OF_LANES = 32
"""In a number of which threads hold different ones: no address with as many is ever decided."""
MAX_SCATTER = 64
"""Distinct offsets of one access to a local array that are followed."""
MAX_CELLS_NOTED = 1_000_000
"""That jumps of one evaluation note: each takes some 100 bytes and a microsecond."""
MAX_ARRAY_BYTES = 1 << 32
"""No shared memory has as many; arithmetic on larger arrays would overflow."""
MAX_PACK_ELEMENTS = 64
"""Arguments that a parameter pack takes."""
MAX_TYPE_DEPTH = 64
"""Of types that name types."""
MAX_TYPE_ENDS = 8
"""Times that one type meets that bound: one that names itself twice would meet it 2^64 times."""
MAX_CALL_RECURSION = 8
"""Calls of one function in calls of itself, unless all that they are given is constant."""
MAX_RESULT_CELLS = 64
"""Numbers in a result that is made up for a call that is not run; larger ones are run."""
MAX_CALLS = 48
"""Calls in calls."""
MAX_PYTHON_FRAMES = 6_000
"""Of this program's own stack: one call of the language is some forty of the interpreter."""
MAX_COPY_INSTRUCTIONS = 1 << 14
"""Of one call of CuTe's `copy`, which unrolls them all: more never compile in practice."""
MAX_PATTERNS = 64
"""Patterns of an access that are kept for reports, the costliest ones."""
MAX_CALL_CHAINS = 64
"""Ways to reach an access that are kept for reports."""

# ---- executing compiled code

MAX_COMPILED_STEPS = 400_000
"""Instructions of one kernel."""
MAX_LOOP_STEPS = 60_000
"""Instructions of one loop before its iterations are summed up."""
MAX_ROUNDS = 1_024
"""Iterations of a loop before they are summed up."""
MAX_OPEN_ROUNDS = 64
"""The same for a loop that may also be left by a condition that is not known."""
MAX_COMPILED_WIDENINGS = 6
"""Afterwards whatever still changes is unknown."""
MAX_LOOP_DEPTH = 60
"""Loops within loops; blocks nested deeper count as one loop."""
MAX_TERMS = 8
"""Unknowns in one value; more become one."""
MAX_GROUPS = 512
"""Different patterns of all warps of a block that one site keeps."""
MAX_GROUP_BYTES = 1 << 28
"""Of all patterns of a kernel."""

# ---- interpreting Python

MAX_PYTHON_STEPS = 60_000
"""Nodes that following one function takes."""
MAX_PYTHON_CALLS = 12
"""Calls in calls."""
MAX_UNROLLED = 32
"""Items of a loop that is executed item by item; others are joined."""
MAX_BASES = 16
"""Classes in which an attribute is looked up."""
MAX_SPLITS = 16
"""Conditions of one call that both outcomes are followed of; later ones are joined."""
MAX_SPLITS_IN_ALL = 32
"""Those of a call and of the calls in it."""
MAX_CONTAINERS = 2_000
"""Objects and containers whose contents are kept for the other path."""
MAX_OPERAND = 1 << 64
"""Of integers that are computed with."""
MAX_RANGE_END = 1 << 40
"""Of a range: its length stays one that `len` can tell."""
MAX_PARAMETER_ROWS = 3
"""Of one `pytest.mark.parametrize`; a note gives the number of the others."""
MAX_PARAMETRIZATIONS = 8
"""Of all of them together."""
MAX_ALIASES = 8
"""Names of names that are followed."""
MAX_CAPTURED = 16
"""Names of enclosing functions that one kernel may take constants from."""
MAX_IMPORTED_FILES = 8
"""Files that names of a JIT kernel are imported from."""
MAX_IMPORTED_CHARACTERS = 1 << 18
"""Of such a file; longer ones have more than constants and helpers."""
MAX_IMPORTED_STEPS = 6_000
"""Steps in functions of other files; what further calls of them return is not known."""
MAX_LAYOUT_FILES = 16
"""Files that makers of swizzles are imported from."""
MAX_KERNEL_TEXTS = 4
"""Texts that a function may return and all of them are analysed."""
MAX_OPEN_CONDITIONS = 12
"""Of a maker of swizzles, whose outcomes are followed."""
MAX_TRITON_LAUNCHES = 8
"""Of one kernel; a note gives the number of the others."""
MAX_CONFIGURATIONS = 16
"""Of an autotuner; a note gives the number of the others."""
MAX_GLUON_LAUNCHES = 8
"""Of one kernel that differ in what decides layouts; a note gives the number of the others."""
MAX_OFFSETS = 1 << 16
"""Elements of a tensor of declared offsets."""
MAX_TILE_ELEMENTS = 1 << 17
"""Of a tile in registers."""
MAX_REGISTER_BITS = 17
"""Of the number of an element that a thread holds."""

# ---- executing the CuTe DSL

MAX_DSL_STEPS = 700_000
"""Nodes that one execution of a file takes."""
MAX_DSL_STEPS_TO_GUESS = 50_000
"""Nodes that an execution may take whose tensors' ranks are tried out."""
MAX_DSL_FILES = 64
"""That a file imports and that are executed with it."""
MAX_PACKAGE_FOLDERS_UP = 3
"""Above a Python file, beside which a package that it imports is looked for."""
MAX_REEXPORTS = 4
"""Packages that hand on a name of one another."""
MAX_CALL_SITES = 6
"""Calls in other files of the run, through which a file is entered."""
MAX_CALLING_FILES = 24
"""Of other files of the run, that are looked into for such calls."""
MAX_DSL_ENTRIES = 24
"""Functions of a file that are entered from outside."""
MAX_DSL_VARIANTS = 6
"""Choices of the command line that are executed besides the defaults."""
MAX_DSL_STEPS_TO_SWITCH = 150_000
"""Nodes that an execution may take which is tried with other flags than the defaults."""
MAX_DSL_SWITCHES = 4
"""Such arguments of one entry, each tried by themselves."""
MAX_DSL_SETTLED = 4
"""Numbers that conditions settle, each by another execution; what hangs on others stays open."""
MAX_DSL_CALLERS_UP = 3
"""Functions above one whose copies are not executed, whose conditions are looked at."""
MAX_WAYS_TO_A_CALL = 8
"""Through such functions, with all that begin alike."""
MAX_DEFINITIONS_BACK = 12
"""Variables, attributes and parameters from a condition to the argument that it hangs on."""
MAX_DSL_KERNELS = 24
"""Of one file."""
MAX_REFUSED_GUESSES = 8
"""Times that a program is executed again, which refused a contiguous mode or an element type."""
MAX_UNIFORM_OBJECTS = 64
"""Objects that an argument of a launch leads to, of which all threads share what is not known."""
MAX_DSL_EVENTS = 40_000
"""Accesses of one kernel."""
MAX_DSL_UNROLLED = 16
"""Iterations of a loop that the program does not ask to unroll, which are executed one by one."""
MAX_DSL_UNROLLED_ON_REQUEST = 256
"""The same of a loop that it asks to unroll."""
MAX_CACHED_KERNELS = 512
"""Files of Triton's cache that are read for an open document, the latest first."""

# ---- fixes

MAX_FIX_STEPS = 1_500
"""Statements that evaluating the fixes of one file may take by default, some 0.3 s."""
MAX_TRIAL_STEPS = 6_000
"""Statements that evaluating another value of a constant that pads rows may take, about 1 s: only
arrays with such a constant and without any other repair need it."""
MAX_SPACING_RUN = 4_096
"""Elements between which free ones are tried; a row that is longer costs more than it saves."""
MAX_CONSTANT_TRIALS = 2
"""Other values of a constant that pads rows that are evaluated for one array."""
MAX_FIX_ROUNDS = 20
"""Of fixing what fixes left."""
MAX_PRICED_PATTERNS = 1_024
"""Costliest patterns of an array that candidates are priced on; evaluation judges the result."""
MAX_SWIZZLE_BITS = 16
"""Of the offset of an array whose swizzle is looked for."""
MAX_ADVISED_PATTERNS = 256
"""Of all accesses of a CuTe tensor that a swizzle is looked for."""
MAX_ADVISED_BITS = 12
"""Of element offsets that this swizzle may read and change."""
MAX_LAYOUT_TRIALS = 3
"""Other layouts of a CuTe tensor that a kernel is evaluated with."""
MAX_STEPS_OF_A_TRIAL = 20_000
"""Statements of a kernel that is evaluated again with another layout."""
MAX_ADVISED_ELEMENTS = 1 << 14
"""Of a Gluon tile that a layout is looked for."""
MAX_ADVISED_ACCESSES = 8
"""Of such a tile."""
MAX_SYNTAX_DEPTH = 200
"""Levels of the syntax tree: libcst's native parser ends the process where its stack ends."""
