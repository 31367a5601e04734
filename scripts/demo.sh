#!/usr/bin/env bash
# Sweeps a real trained model on real samples: prints the ranked table, leaves demo/results.json and demo/report.html.
# `make demo` calls this after building; it needs .venv with the package in it.
set -euo pipefail
cd "$(dirname "$0")/.."

.venv/bin/python scripts/fetch_demo_model.py demo
.venv/bin/bitsweep sweep demo/model.onnx --data demo/data.npz --calibration-data demo/calibration.npz -o demo
