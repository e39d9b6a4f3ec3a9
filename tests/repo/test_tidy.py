"""The repository stays tidy: these tests fail on what would trip a reader or a fresh clone."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GENERATED = {
    "Cargo.lock", "fuzz/Cargo.lock", "validation/mutants/one-program/Cargo.lock",
    "requirements.lock", "LICENSE-APACHE",
    "docs/reference/commands.md", "docs/reference/scenario.md", "docs/reference/stacks.md",
    "crates/python/fairport.data/data/share/man/man1/fairport.1", "examples/who_starves.ipynb",
}  # fmt: skip
LONGEST_FILE = 400
LONGEST_LINE = 120
# a test is a list of facts, which are read one by one
LONGEST_TEST = 500
MOST_FIELDS = 15


@cache
def texts() -> dict[str, str]:
    """Every file that is, or would be, committed and is text."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    found = {}
    for name in listed.stdout.decode().split("\0"):
        path = ROOT / name
        if "/vendor/" in name:
            continue  # libraries of others, as published
        if name and path.is_file():
            content = path.read_bytes()
            if b"\0" not in content:
                found[name] = content.decode()
    return found


def lines_matching(pattern: str, *, but: set[str] | None = None) -> list[str]:
    """`file:line: text` of every line that matches."""
    expression = re.compile(pattern)
    return [
        f"{name}:{number}: {line.strip()}"
        for name, text in texts().items()
        if name not in (but or set())
        for number, line in enumerate(text.splitlines(), 1)
        if expression.search(line)
    ]


def test_nothing_depends_on_one_machine() -> None:
    # each pattern is written so that it does not match itself
    assert lines_matching(r"(?<![\w.])/(?:[r]oot|[h]ome|[w]ork|[U]sers)/") == []


def test_no_package_registry_is_named_by_its_host() -> None:
    # Cargo.lock names its registry by an index address, whatever host serves it
    hosts = r"py[p]i\.org|pytho[n]hosted|cra[t]es\.io|npm[j]s\.|proxy\.gola[n]g\.org"
    assert lines_matching(hosts, but=GENERATED) == []


def test_nothing_is_left_to_do() -> None:
    assert lines_matching(r"\b(?:TO[D]O|FI[X]ME|XX[X]|HA[C]K)\b", but=GENERATED) == []


# words that we no longer use -> the field's words for the same. Each pattern is written so that it
# does not match itself.
GONE = {
    r"\b[m]eets?\b|\b[m]eet_|_[m]eet\b": "enqueue, share, satisfy",
    r"\b[j]udge[sd]?\b|\b[j]udging\b|[j]udge_|_[j]udge": "admit, decide, check",
    r"lets_[i]n\b": "is_accepted",
    r"\b[N]ews\b|\b[h]eed": "ACK information, SACK information",
    r"[N]ursery|[n]ursery|\b[b]ury\b|\b[b]uried\b": "pending events",
    r"\b[D]esk\b": "WorkloadContext",
    r"[L]otter(?:y|ies)|[l]otter(?:y|ies)|\b[L]ot\b": "DropProbability, FlowFactory",
    r"\b[W]ishes\b|\b[w]ishes\b|\b[P]assage\b|\b[l]inger": "a name of the field",
    r"\b[o]ctets?\b(?!\()": "bytes, unless an RFC is quoted",
    # a library's method has this name
    r"\b[t]old\b|(?<!\.)\b[t]ells?\b": "reported, given, shown",
    r"\b[m]end(?:s|ed|ing)?\b": "fix",
    r"\b[s]tands?\b(?! still)": "is",
    r"\b[h]angs? on\b": "depends on",
    r"\b[h]eld against\b": "compared with",
    r"\b[b]y and by\b": "gradually",
    r"\b(?:[O]ne file|a panel|a line|a bit) [a] (?:kind|variant|slot|word)\b": "one per",
    r"\b[D]ESIGN \d": "what the sentence means: there is no such document here",
    r"\b[V]erdict::|(?:->|:) [V]erdict\b": "Admission; a verdict is a run's",
    r"\b[a] packet-hop (?:at|is|took)\b|ns [a] packet-hop|hops [a] second": "per",
}


@pytest.mark.parametrize("words", GONE)
def test_the_fields_words_are_used(words: str) -> None:
    prose = (".rs", ".py", ".pyi", ".md", ".toml", ".html", ".cc", ".h", ".tcl")
    others = {name for name in texts() if not name.endswith(prose)}
    found = lines_matching(words, but={"CHANGELOG.md", *others})
    assert found == [], f"the field says: {GONE[words]}"


@pytest.mark.parametrize(
    "name", ["Admission", "Link", "Measure", "Place", "Port", "Queue", "Verdict"]
)
def test_a_name_has_one_meaning(name: str) -> None:
    # the binding's types have the names that Python users know
    places = re.compile(r"(?:crates/(?!python/)[\w-]+/src|python/fairport)/(?!_core\.pyi)")
    declared = lines_matching(
        rf"^(?:pub(?:\([\w:]+\))? )?(?:struct|enum|trait|type|class) {name}\b"
    )
    assert len([line for line in declared if places.match(line)]) <= 1, declared


def test_a_file_fits_in_a_readers_head() -> None:
    counts = {name: text.count("\n") for name, text in texts().items() if name not in GENERATED}
    too_long = {
        name: count
        for name, count in counts.items()
        if count > (LONGEST_TEST if re.search(r"(?:^|/)tests/", name) else LONGEST_FILE)
    }
    assert too_long == {}


# a struct of Rust with what is right above it: its comments and attributes
_STRUCT = re.compile(
    r"^(?P<above>(?:(?://|#\[)[^\n]*\n)*)(?:pub(?:\(\w+\))? )?struct (?P<name>\w+)[^;{(]*\{\n"
    r"(?P<fields>.*?)^\}",
    re.MULTILINE | re.DOTALL,
)
_FIELD = re.compile(r"^    (?:pub(?:\([\w:]+\))? )?\w+: ", re.MULTILINE)
_REASON = re.compile(rf"^// More than {MOST_FIELDS} fields: \w", re.MULTILINE)


def without_a_reason(text: str) -> list[str]:
    """The structs with many fields and no comment that says why."""
    return [
        struct["name"]
        for struct in _STRUCT.finditer(text)
        if len(_FIELD.findall(struct["fields"])) > MOST_FIELDS
        and not _REASON.search(struct["above"])
    ]


def test_a_struct_of_tcp_with_many_fields_says_why() -> None:
    fields = "".join(f"    /// its {at}\n    pub(crate) field_{at}: u64,\n" for at in range(16))
    struct = f"#[derive(Debug)]\npub(crate) struct Many<'a> {{\n{fields}}}\n"
    assert without_a_reason(struct) == ["Many"]
    assert without_a_reason(f"// More than 15 fields: each is a fact.\n{struct}") == []
    assert without_a_reason(struct.replace("    pub(crate) field_3: u64,\n", "")) == []
    found = {
        name: structs
        for name, text in texts().items()
        if name.startswith("crates/tcp/") and (structs := without_a_reason(text))
    }
    assert found == {}


def test_a_file_ends_with_one_newline_and_no_line_with_a_blank() -> None:
    endings = [name for name, text in texts().items() if text and text.rstrip("\n") + "\n" != text]
    assert endings == []
    assert lines_matching(r"[ \t]+$") == []


def test_a_rust_module_is_found_by_its_name() -> None:
    """`a/b.rs` is the module `a::b`, also if it has modules below it: no tab says `mod.rs`."""
    assert [name for name in texts() if re.match(r"crates/\w+/src/.*\bmod\.rs$", name)] == []


def test_every_test_file_of_a_crate_is_compiled() -> None:
    """A file that no program lists would pass without a word."""
    left_out = []
    for name in texts():
        crate = re.fullmatch(r"(crates/\w+)/tests/(\w+)\.rs", name)
        if crate is None or crate[2] == "main":
            continue
        manifest = texts()[f"{crate[1]}/Cargo.toml"]
        listed = texts().get(f"{crate[1]}/tests/main.rs", "")
        is_found = "autotests = false" not in manifest or f'"tests/{crate[2]}.rs"' in manifest
        if not is_found and f"\nmod {crate[2]};\n" not in listed:
            left_out.append(name)
    assert left_out == []


def test_prose_in_markdown_is_wrapped() -> None:
    too_long = []
    for name, text in texts().items():
        if not name.endswith(".md"):
            continue
        # neither code nor tables, pictures, and lists of code
        prose = re.sub(r"^```.*?^```", _no_text, text, flags=re.MULTILINE | re.DOTALL)
        too_long += [
            f"{name}:{number}"
            for number, line in enumerate(prose.splitlines(), 1)
            if len(line) > LONGEST_LINE and not re.match(r"\||<|!\[|- `", line)
        ]
    assert too_long == []


def _no_text(code: re.Match[str]) -> str:
    """The empty lines of a block, so that what is after it keeps its line numbers."""
    return "\n" * code[0].count("\n")


def test_every_link_in_markdown_leads_somewhere() -> None:
    broken = []
    for name, text in texts().items():
        if not name.endswith(".md"):
            continue
        prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)\s]+)\)", prose):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            path = (ROOT / name).parent / file if file else ROOT / name
            if not path.exists() or (anchor and anchor not in anchors(path)):
                broken.append(f"{name}: {target}")
    assert broken == []


def anchors(path: Path) -> set[str]:
    """Names of a Markdown file's headings, as they are linked to, and anchors of its own."""
    text = path.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    given = set(re.findall(r'<a id="([^"]+)"></a>', text))
    return given | {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


def test_the_lock_holds_every_dependency() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = re.findall(r'"([\w-]+)>=', project)
    locked = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert declared
    assert [name for name in declared if not re.search(rf"^{name}==", locked, re.MULTILINE)] == []
