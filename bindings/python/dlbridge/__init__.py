# SPDX-License-Identifier: Apache-2.0
"""Tensors of every framework, exchanged by DLPack: imported, checked, and handed on."""

from ._core import Tensor, from_dlpack

__all__ = ["Tensor", "from_dlpack"]
