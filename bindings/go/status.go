// SPDX-License-Identifier: Apache-2.0
// Errors: the library's errors arrive as an *Error, which errors.Is compares with a Status or a Rule.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

// Status is the outcome of a call, 0 being success. As an error it is a target for [errors.Is]:
//
//	errors.Is(err, dlbridge.StatusPolicy)
//
// Values that are not listed may come from a newer library.
type Status int32

// Rule is the rule that a tensor broke. As an error it is a target for [errors.Is]. Values that are
// not listed may come from a newer library.
type Rule int32

// ErrClosed is returned by every use of an object that was closed, detached or consumed, or that
// another call is consuming.
var ErrClosed = errors.New("dlbridge: used after it was closed, detached or consumed")

// ErrInUse is returned by a call that would consume a tensor while another call or open elements use
// it.
var ErrInUse = errors.New("dlbridge: in use by another call or by open elements")

// Error is an error of the library.
type Error struct {
	Status     Status // What kind of error.
	Rule       Rule   // The rule that was broken, or RuleNone.
	Axis       int    // The axis concerned, from 0; -1 where none applies.
	NativeCode int    // Code of the driver's call that failed; 0 where none did.
	Message    string // What was expected, what was found, what to do.
}

// Error has the message, the rule and the axis.
func (e *Error) Error() string {
	var where string
	if e.Rule != RuleNone {
		where = " (" + e.Rule.String()
		if e.Axis >= 0 {
			where += fmt.Sprintf(", axis %d", e.Axis)
		}
		where += ")"
	}
	return "dlbridge: " + e.Message + where
}

// Is reports whether target is the status or the rule of this error.
func (e *Error) Is(target error) bool {
	switch wanted := target.(type) {
	case Status:
		return e.Status == wanted
	case Rule:
		return e.Rule == wanted
	}
	return false
}

// String is the status's name, such as "ERROR_VERSION".
func (s Status) String() string {
	return strings.TrimPrefix(C.GoString(C.dlbridge_status_name(C.DLBridgeStatus(s))), "DLBRIDGE_")
}

// Error is the name and one sentence on the status.
func (s Status) Error() string {
	return s.String() + ": " + C.GoString(C.dlbridge_status_text(C.DLBridgeStatus(s)))
}

// String is the rule's name, such as "NDIM_NEGATIVE".
func (r Rule) String() string {
	return C.GoString(C.dlbridge_rule_name(C.DLBridgeRule(r)))
}

// Error is the name and a phrase on what is wrong when the rule is broken.
func (r Rule) Error() string {
	return r.String() + ": " + C.GoString(C.dlbridge_rule_text(C.DLBridgeRule(r)))
}

// failure makes an error of a failed call and frees the C struct.
func failure(result C.godl_result) error {
	if result.error == nil {
		status := Status(result.status)
		return &Error{Status: status, Rule: Rule(result.rule), Axis: int(result.axis),
			Message: status.Error()}
	}
	defer C.free(unsafe.Pointer(result.error))
	return &Error{
		Status:     Status(result.error.status),
		Rule:       Rule(result.error.rule),
		Axis:       int(result.error.axis),
		NativeCode: int(result.error.native_code),
		Message:    C.GoString(&result.error.message[0]),
	}
}

// check is the error of a call without a result, or nil.
func check(result C.godl_result) error {
	if result.status == C.DLBRIDGE_OK {
		return nil
	}
	return failure(result)
}

// invalid is the error for an argument that cannot be passed to C.
func invalid(message string) error {
	return &Error{Status: StatusInvalidArgument, Axis: -1, Message: message}
}
