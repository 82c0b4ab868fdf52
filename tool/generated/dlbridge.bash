# SPDX-License-Identifier: Apache-2.0
# Written by `dlbridge completion`; names generated from facts/*.toml by tools/facts.py.
# shellcheck shell=bash disable=SC2207
_dlbridge() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W 'info explain check -h --help --version' -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
    info)
      case $previous in
      esac
      if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W '-h --help --json' -- "$word"))
      fi
      ;;
    explain)
      case $previous in
      esac
      if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W '-h --help --rules --statuses --json' -- "$word"))
      else
        COMPREPLY=($(compgen -W 'VERSION_MAJOR NDIM_NEGATIVE NDIM_LIMIT SHAPE_NULL STRIDES_NULL DTYPE_BITS_ZERO DTYPE_LANES_ZERO DTYPE_LANES_SCALABLE DTYPE_BITS_FIXED DTYPE_UNKNOWN DEVICE_UNKNOWN FLAGS_UNKNOWN DEVICE_ID_NEGATIVE DEVICE_ID_HOST EXTENT_NEGATIVE COUNT_OVERFLOW SIZE_OVERFLOW OFFSET_OVERFLOW DATA_NULL ADDRESS_RANGE HANDLE_RANGE BUFFER_BOUNDS CONTIGUITY ALIGNMENT DEVICE_REJECTED DTYPE_REJECTED NOT_WRITABLE NEGATIVE_STRIDE ZERO_STRIDE SELF_OVERLAP DATA_UNALIGNED VERSION_LABEL REQUIRED_VERSION LEGACY_READ_ONLY LEGACY_PADDED LEGACY_DTYPE LEGACY_DEVICE OFFSET_FOLD VIEW_BOUNDS VIEW_OFFSET IN_STORAGE COPY_DEVICE DEVICE_LABEL ALLOCATION_BOUNDS SHAPE_MISMATCH OK ERROR_INVALID_ARGUMENT ERROR_TOO_NEW ERROR_OUT_OF_MEMORY ERROR_INVALID_TENSOR ERROR_VERSION ERROR_POLICY ERROR_UNREPRESENTABLE ERROR_UNKNOWN_CODE ERROR_FOREIGN_TENSOR ERROR_UNSUPPORTED ERROR_BUFFER_TOO_SMALL ERROR_PARSE ERROR_NOT_FOUND ERROR_BOUNDS ERROR_FORKED ERROR_UNAVAILABLE ERROR_DRIVER ERROR_EXISTS ERROR_CAPTURE ERROR_DESCRIPTOR ERROR_AMBIGUOUS' -- "$word"))
      fi
      ;;
    check)
      case $previous in
        --case)
          COMPREPLY=()
          return
          ;;
        --contiguous)
          COMPREPLY=($(compgen -W 'c f either' -- "$word"))
          return
          ;;
        --align)
          COMPREPLY=()
          return
          ;;
        --dlpack)
          COMPREPLY=()
          return
          ;;
      esac
      if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W '-h --help --case --brief --strict --writable --contiguous --align --dlpack --json' -- "$word"))
      else
        COMPREPLY=($(compgen -f -- "$word"))
      fi
      ;;
  esac
}
complete -o filenames -F _dlbridge dlbridge
