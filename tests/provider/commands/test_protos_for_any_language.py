"""`bigfleet provider protos`: the contract's files, with what a language's generator needs."""

import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from google.protobuf import descriptor_pb2

import bigfleet
from bigfleet.cli.main import cli

FILE = Path("bigfleet/v1alpha1/provider.proto")
PROTOS = Path(bigfleet.__file__).parent / "protos"


def written(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["provider", "protos", "--out", str(folder), *words])


def test_a_folder_that_cannot_be_made_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = written(tmp_path / "file")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "name another folder" in result.stderr


def compiled(folder: Path) -> descriptor_pb2.FileDescriptorProto:
    from grpc_tools import protoc

    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "set"
        words = ["protoc", f"-I{folder}", f"--descriptor_set_out={out}", str(FILE)]
        assert protoc.main(words) == 0
        read = out.read_bytes()
    (file,) = descriptor_pb2.FileDescriptorSet.FromString(read).file
    return file


def shape_of(file: descriptor_pb2.FileDescriptorProto) -> list[bytes]:
    parts = (*file.message_type, *file.enum_type, *file.service)
    return [part.SerializeToString(deterministic=True) for part in parts]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ((), {}),
        (("--language", "typescript"), {}),
        (
            ("--language", "go", "--package", "example.com/acme/gen"),
            {"go_package": "example.com/acme/gen/bigfleet/v1alpha1;bigfleetv1alpha1"},
        ),
        (
            ("--language", "java", "--package", "com.acme.bigfleet"),
            {"java_package": "com.acme.bigfleet", "java_multiple_files": True},
        ),
    ],
    ids=["plain", "typescript", "go", "java"],
)
def test_the_files_compile_and_are_the_contract(
    tmp_path: Path, words: tuple[str, ...], options: dict[str, object]
) -> None:
    result = written(tmp_path, *words)
    assert result.exit_code == 0, result.output
    assert str(FILE) in result.output
    assert "Next: " in result.output
    file = compiled(tmp_path)
    assert {field.name: value for field, value in file.options.ListFields()} == options
    assert shape_of(file) == shape_of(compiled(PROTOS))


@pytest.mark.parametrize(
    "words",
    [
        ("--language", "go"),
        ("--language", "go", "--package", 'x"; option y = "'),
        ("--language", "java", "--package", "com/acme"),
        ("--package", "com.acme"),
    ],
    ids=["no package", "quotes", "slashes", "no language"],
)
def test_a_package_that_cannot_be_used_is_refused_by_name(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    result = written(tmp_path, *words)
    assert result.exit_code == 2
    assert "--package" in result.output
    assert not (tmp_path / FILE).exists()


def test_a_file_that_was_changed_is_not_written_over(tmp_path: Path) -> None:
    assert written(tmp_path).exit_code == 0
    assert written(tmp_path).exit_code == 0
    (tmp_path / FILE).write_text("mine")
    result = written(tmp_path)
    assert result.exit_code == 2
    assert (tmp_path / FILE).read_text() == "mine"


def test_the_page_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[3] / "docs" / "providers.md").read_text()
    asked, _, rest = page.partition("$ bigfleet provider protos ")[2].partition("\n")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["provider", "protos", *asked.split()])
    assert result.output == rest.partition("```")[0]
