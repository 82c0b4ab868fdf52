# SPDX-License-Identifier: Apache-2.0
"""Writes model.onnx: y = x + x."""

import onnx
import onnx.parser

TEXT = """<ir_version: 8, opset_import: ["" : 13]>
double (float[n] x) => (float[n] y) { y = Add(x, x) }"""
onnx.save(onnx.parser.parse_model(TEXT), "model.onnx")
