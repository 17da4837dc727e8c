"""The weights folder: written and read back, and refused in one line when something is not right."""

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from translator.errors import CheckpointError, ConfigError
from translator.tokenizer import Tokenizer
from translator.translate import Translator
from translator.weights import load_tokenizers, load_weights, save_tokenizers, save_weights

Make = Callable[..., Translator]

CONFIG = """\
corpus:
  source_language: en
  target_language: it
  train: {source: nowhere.en, target: nowhere.it}
tokenizer: {kind: character, shared: true}
model: {d_model: 32, num_heads: 2, d_ff: 64, num_encoder_layers: 1, num_decoder_layers: 1, share_embeddings: none}
decode: {max_length_ratio: 1.0, max_length_extra: 5}
"""


def publish(folder: Path, translator: Translator) -> Path:
    """Write the weights folder of a translator."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(CONFIG)
    save_tokenizers(folder, translator.src_tokenizer, translator.tgt_tokenizer)
    save_weights(
        folder,
        translator.model.state_dict(),
        step=7,
        src_tokenizer=translator.src_tokenizer,
        tgt_tokenizer=translator.tgt_tokenizer,
        longest_source=18,
    )
    return folder


@pytest.fixture
def folder(tmp_path: Path, translator: Translator) -> Path:
    return publish(tmp_path / "weights" / "noise", translator)


@pytest.fixture
def two_tokenizers(make_translator: Make, lines: list[str]) -> Translator:
    """A translator with a vocabulary for each side, of unequal sizes."""
    source = Tokenizer.train(lines, kind="character", vocab_size=30)
    translator = make_translator()
    torch.manual_seed(1)
    translator.src_tokenizer = source
    translator.model.src_embedding = torch.nn.Embedding(source.vocab_size, 32, padding_idx=0)
    return translator


def test_a_folder_translates_as_the_live_model_does(folder: Path, translator: Translator, lines: list[str]) -> None:
    loaded = Translator.load(folder, device="cpu")
    assert loaded.translate(lines[:4]) == translator.translate(lines[:4])
    assert (loaded.longest_source, loaded.target_language) == (18, "it")
    assert loaded.decode.max_length_extra == 5
    assert not loaded.model.training
    assert load_weights(folder).step == 7
    assert all(parameter.requires_grad for parameter in loaded.model.parameters())


def test_models_are_found_by_name_and_by_path(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name_or_path, home in ((folder, None), (str(folder), None), (folder / "model.safetensors", None),
                               ("noise", tmp_path)):  # fmt: skip
        assert Translator.load(name_or_path, home=home, device="cpu").longest_source == 18
    monkeypatch.setenv("TRANSLATOR_HOME", str(tmp_path))
    assert Translator.load("noise", device="cpu").longest_source == 18
    monkeypatch.delenv("TRANSLATOR_HOME")
    monkeypatch.chdir(tmp_path)
    assert Translator.load("noise", device="cpu").longest_source == 18
    with pytest.raises(CheckpointError, match=r"other is neither .* \(there: noise\)"):
        Translator.load("other")


def test_a_copied_folder_needs_nothing_else(folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.move(folder, moved)
    assert Translator.load(moved, device="cpu").translate(["it rains"])


def test_each_side_may_have_its_tokenizer(tmp_path: Path, two_tokenizers: Translator) -> None:
    folder = publish(tmp_path / "two", two_tokenizers)
    loaded = Translator.load(folder, device="cpu")
    assert (loaded.src_tokenizer.vocab_size, loaded.tgt_tokenizer.vocab_size) == (30, 34)
    assert loaded.translate(["it rains"]) == two_tokenizers.translate(["it rains"])
    first, second = folder / "tokenizer.source.json", folder / "tokenizer.target.json"
    first.rename(folder / "third"), second.rename(first), (folder / "third").rename(second)
    with pytest.raises(CheckpointError, match=r"source tokenizer .* 34 entries .* trained with 30 entries"):
        Translator.load(folder)


def test_tokenizers_replace_those_of_the_other_form(tmp_path: Path, two_tokenizers: Translator) -> None:
    source, target = two_tokenizers.src_tokenizer, two_tokenizers.tgt_tokenizer
    for pair in ((source, source), (source, target), (target, target)):
        save_tokenizers(tmp_path, *pair)
        assert [one.fingerprint for one in load_tokenizers(tmp_path)] == [one.fingerprint for one in pair]


@pytest.mark.parametrize("name", ["model.safetensors", "config.yaml", "tokenizer.json"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=name):
        load_weights(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "config.yaml", "tokenizer.json"])
@pytest.mark.parametrize("protocol", [0, 4, "torch"])
def test_no_pickle_is_read(folder: Path, tmp_path: Path, name: str, protocol: int | str) -> None:
    marker = tmp_path / "marker"
    if protocol == "torch":
        torch.save(Canary(marker), folder / name)
    else:
        (folder / name).write_bytes(pickle.dumps(Canary(marker), protocol=int(protocol)))
    with pytest.raises((CheckpointError, ConfigError)) as caught:
        load_weights(folder)
    assert protocol == 0 or "not a safe checkpoint" in str(caught.value)
    with pytest.raises(CheckpointError, match="not a safe checkpoint"):
        Translator.load(shutil.copy(folder / name, tmp_path / "model.pt"))
    assert not marker.exists()


class Canary:
    """Touches a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.marker,)


@pytest.mark.parametrize("damage", [lambda data: data[:-100], lambda data: data[:4], lambda data: b"\xff" * 99 + data])
def test_damaged_weights_are_refused(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(CheckpointError, match="not a safe checkpoint"):
        load_weights(folder)


def test_another_tokenizer_is_refused_in_one_line(folder: Path, lines: list[str]) -> None:
    Tokenizer.train(lines, kind="character", vocab_size=30).save(folder / "tokenizer.json")
    with pytest.raises(CheckpointError, match=r"30 entries .* trained with 34 entries") as caught:
        load_weights(folder)
    assert "\n" not in str(caught.value)


def test_a_tokenizer_of_equal_size_is_refused_by_its_hash(folder: Path) -> None:
    file = folder / "tokenizer.json"
    text = file.read_text()
    swapped = text.replace('"d"', '"?"').replace('"e"', '"d"').replace('"?"', '"e"')
    assert swapped != text
    file.write_text(swapped)
    with pytest.raises(CheckpointError, match=r"34 entries and SHA-256 .* trained with 34 entries and SHA-256"):
        load_weights(folder)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("d_ff: 64", "d_ff: 96", r"inner.weight has the shape \(64, 32\), not \(96, 32\) \(and 4 more\)"),
        ("share_embeddings: none", "share_embeddings: all", "projection.weight is unknown"),
        ("num_decoder_layers: 1", "num_decoder_layers: 2", "decoder.layers.1.* is missing"),
        ("num_heads: 2", "num_heads: 5", "num_heads"),
    ],
)
def test_weights_that_do_not_fit_the_config_are_refused_in_one_line(
    folder: Path, old: str, new: str, says: str
) -> None:
    file = folder / "config.yaml"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises((CheckpointError, ConfigError), match=says) as caught:
        load_weights(folder)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [("format_version", "99", "format 99"), ("src_tokenizer", None, "lacks src_tokenizer")],
)
def test_metadata_is_checked(folder: Path, key: str, value: str | None, says: str) -> None:
    file = folder / "model.safetensors"
    from safetensors import safe_open

    with safe_open(file, framework="pt") as opened:
        metadata = dict(opened.metadata())
    metadata.pop(key)
    save_file(load_file(file), file, metadata | ({} if value is None else {key: value}))
    with pytest.raises(CheckpointError, match=says):
        load_weights(folder)


def test_weights_that_are_not_numbers_are_refused(folder: Path, translator: Translator) -> None:
    weights = {name: tensor.clone() for name, tensor in translator.model.state_dict().items()}
    weights["projection.bias"][3] = float("nan")
    tokenizers = {"src_tokenizer": translator.src_tokenizer, "tgt_tokenizer": translator.tgt_tokenizer}
    save_weights(folder, weights, step=1, longest_source=1, **tokenizers)
    with pytest.raises(CheckpointError, match=r"projection\.bias holds values that are not numbers"):
        load_weights(folder)


def test_a_device_that_is_not_there_is_named(folder: Path) -> None:
    if torch.cuda.is_available():
        assert Translator.load(folder, device="cuda").device.type == "cuda"
    else:
        with pytest.raises(ConfigError, match="cuda is not available"):
            Translator.load(folder, device="cuda")
