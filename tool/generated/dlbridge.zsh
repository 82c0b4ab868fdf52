#compdef dlbridge
# SPDX-License-Identifier: Apache-2.0
# Written by `dlbridge completion`; names generated from facts/*.toml by tools/facts.py.
local line state
_arguments -C \
  '-h[print this help]' \
  '--help[print this help]' \
  '--version[print the version of the library]' \
  '1:command:->command' \
  '*::argument:->argument'
case $state in
  command)
    local -a commands=(
      'info:describe the library, its DLPack versions, and the drivers that it finds'
      'explain:explain a rule or a status\: its meaning, its reason, what to do'
      'check:check the tensors of a file\: fields, layout, broken rules'
    )
    _describe command commands
    ;;
  argument)
    case $line[1] in
    info)
      _arguments \
        '-h[print this help]' \
        '--help[print this help]' \
        '--json[print JSON]'
      ;;
    explain)
      _arguments \
        '-h[print this help]' \
        '--help[print this help]' \
        '--rules[only rules]' \
        '--statuses[only statuses]' \
        '--json[print JSON]' \
        '1::name:(VERSION_MAJOR NDIM_NEGATIVE NDIM_LIMIT SHAPE_NULL STRIDES_NULL DTYPE_BITS_ZERO DTYPE_LANES_ZERO DTYPE_LANES_SCALABLE DTYPE_BITS_FIXED DTYPE_UNKNOWN DEVICE_UNKNOWN FLAGS_UNKNOWN DEVICE_ID_NEGATIVE DEVICE_ID_HOST EXTENT_NEGATIVE COUNT_OVERFLOW SIZE_OVERFLOW OFFSET_OVERFLOW DATA_NULL ADDRESS_RANGE HANDLE_RANGE BUFFER_BOUNDS CONTIGUITY ALIGNMENT DEVICE_REJECTED DTYPE_REJECTED NOT_WRITABLE NEGATIVE_STRIDE ZERO_STRIDE SELF_OVERLAP DATA_UNALIGNED VERSION_LABEL REQUIRED_VERSION LEGACY_READ_ONLY LEGACY_PADDED LEGACY_DTYPE LEGACY_DEVICE OFFSET_FOLD VIEW_BOUNDS VIEW_OFFSET IN_STORAGE COPY_DEVICE DEVICE_LABEL ALLOCATION_BOUNDS SHAPE_MISMATCH OK ERROR_INVALID_ARGUMENT ERROR_TOO_NEW ERROR_OUT_OF_MEMORY ERROR_INVALID_TENSOR ERROR_VERSION ERROR_POLICY ERROR_UNREPRESENTABLE ERROR_UNKNOWN_CODE ERROR_FOREIGN_TENSOR ERROR_UNSUPPORTED ERROR_BUFFER_TOO_SMALL ERROR_PARSE ERROR_NOT_FOUND ERROR_BOUNDS ERROR_FORKED ERROR_UNAVAILABLE ERROR_DRIVER ERROR_EXISTS ERROR_CAPTURE ERROR_DESCRIPTOR ERROR_AMBIGUOUS)'
      ;;
    check)
      _arguments \
        '-h[print this help]' \
        '--help[print this help]' \
        '--case[only cases of the file whose names contain TEXT]:TEXT:' \
        '--brief[one line for each tensor]' \
        '--strict[reject dtype codes, device types and flags that DLPack does not define]' \
        '--writable[reject tensors that are read-only or not known to be writable]' \
        '--contiguous[reject other layouts\: last axis fastest (c), first axis fastest (f)]:value:(c f either)' \
        '--align[reject tensors that are not aligned to BYTES]:BYTES:' \
        '--dlpack[check for a consumer of this DLPack version (default\: 1.3)]:VERSION:' \
        '--json[print JSON]' \
        '1:FILE:_files'
      ;;
    esac
    ;;
esac
