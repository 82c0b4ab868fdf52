// SPDX-License-Identifier: Apache-2.0
//! Runs tests/conformance/cases.json of the repository through this crate. With
//! `DLBRIDGE_OUTCOMES=FILE` the answers of all steps are written there, one line for each case.

// Short code is more important than speed in this runner.
#![allow(clippy::format_push_string, clippy::format_collect)]

mod arguments;
mod calls;
mod device_calls;
mod faults;
#[rustfmt::skip]
mod names;
mod world;

use serde_json::{json, Map, Value};
use std::io::Write;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};
use world::World;

/// The calls that a case can name.
type Call = fn(&Value, &mut World) -> Value;
const CALLS: [(&str, Call); 44] = [
    ("validate", calls::validate),
    ("validate_legacy", calls::validate),
    ("validate_versioned", calls::validate),
    ("diagnose", calls::diagnose),
    ("layout", calls::layout),
    ("tensor_format", calls::tensor_format),
    ("dtype_format", calls::dtype_format),
    ("dtype_parse", calls::dtype_parse),
    ("device_format", calls::device_format),
    ("device_parse", calls::device_parse),
    ("host_accessible", calls::host_accessible),
    ("required_version", calls::required_version),
    ("negotiate", calls::negotiate),
    ("exchange_api_find", calls::exchange_api_find),
    ("identify", calls::identify),
    ("module_pin", calls::module_pin),
    ("upgrade", calls::upgrade),
    ("upgrade_into", calls::upgrade_into),
    ("upgrade_many", calls::upgrade_many),
    ("downgrade", calls::downgrade),
    ("import", calls::import),
    ("export", calls::export),
    ("share", calls::share),
    ("view", calls::view),
    ("allocate", calls::allocate),
    ("release", calls::release),
    ("check", calls::check),
    ("backend_info", device_calls::backend_info),
    ("pointer_info", device_calls::pointer_info),
    ("wrap", device_calls::wrap),
    ("wrap_legacy", device_calls::wrap_legacy),
    ("copy", device_calls::copy),
    ("copy_async", device_calls::copy_async),
    ("release_after", device_calls::release_after),
    ("collect", device_calls::collect),
    ("stream_from_array_api", device_calls::stream_from_array_api),
    ("stream_handoff", device_calls::stream_handoff),
    ("stream_synchronize", device_calls::stream_synchronize),
    ("context_register", device_calls::context_register),
    ("context_find", device_calls::context_find),
    ("context_next", device_calls::context_next),
    ("context_retain", device_calls::context_retain),
    ("context_release", device_calls::context_release),
    ("context_unregister", device_calls::context_unregister),
];

/// All tests share the context table of the process, so they run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn load() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/conformance/cases.json");
    let text = std::fs::read_to_string(path).expect("the corpus");
    serde_json::from_str(&text).expect("the corpus is JSON")
}

fn call(step: &Value, world: &mut World) -> Value {
    let name = step["call"].as_str().expect("a call has a name");
    let found = CALLS.iter().find(|(known, _)| *known == name);
    let (_, function) = found.unwrap_or_else(|| panic!("unknown call: {name}"));
    function(step, world)
}

/// The part of `answer` that `expect` names.
fn expected_of(expect: &Value, answer: &Value) -> Value {
    let keys = expect.as_object().expect("an expectation").keys();
    Value::Object(keys.map(|key| (key.clone(), answer[key].clone())).collect::<Map<_, _>>())
}

/// Runs one case and returns its failures, or "". `answers` receives the answer of each step. After
/// a wrong answer a step may name a tensor that does not exist.
fn run(case: &Value, answers: &mut Vec<Value>) -> String {
    run_by(case, answers, &mut call)
}

/// As [`run`], with another function that makes the steps.
fn run_by(
    case: &Value,
    answers: &mut Vec<Value>,
    call: &mut dyn FnMut(&Value, &mut World) -> Value,
) -> String {
    let steps = catch_unwind(AssertUnwindSafe(|| run_steps(case, answers, call)));
    steps.unwrap_or_else(|_| " the case cannot go on\n".to_owned())
}

fn run_steps(
    case: &Value,
    answers: &mut Vec<Value>,
    call: &mut dyn FnMut(&Value, &mut World) -> Value,
) -> String {
    let mut world = World::new(&case["objects"]);
    let mut failures = String::new();
    for (index, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
        let answer = expected_of(&step["expect"], &call(step, &mut world));
        for (key, wanted) in step["expect"].as_object().expect("an expectation") {
            if answer[key] != *wanted {
                let name = &step["call"];
                failures += &format!(" step {index} ({name}) {key}\n");
                failures += &format!("  expected {wanted}\n  found    {}\n", answer[key]);
            }
        }
        answers.push(answer);
    }
    failures + &world.finish()
}

#[test]
fn all_cases() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let document = load();
    assert_eq!(document["schema"], 2);
    let mut outcomes = String::new();
    let (mut ran, mut skipped, mut failed) = (0, 0, Vec::new());
    for case in document["cases"].as_array().expect("cases") {
        let mut answers = Vec::new();
        let abi = case["abi"] == true;
        if abi {
            skipped += 1;
        } else {
            ran += 1;
            let failures = run(case, &mut answers);
            if !failures.is_empty() {
                failed.push(format!("{}\n{failures}", case["name"]));
            }
        }
        let outcome = json!({"name": case["name"], "ran": !abi, "steps": answers});
        outcomes += &format!("{outcome}\n");
    }
    if let Some(path) = std::env::var_os("DLBRIDGE_OUTCOMES") {
        let mut file = std::fs::File::create(path).expect("the file for outcomes");
        file.write_all(outcomes.as_bytes()).expect("the file for outcomes");
    }
    let text = failed.iter().take(20).map(String::as_str).collect::<String>();
    assert!(failed.is_empty(), "{} of {ran} cases failed:\n{text}", failed.len());
    assert!(ran > 2000 && skipped < 600, "{ran} cases ran, {skipped} were skipped");
}

/// A wrong expectation is reported.
#[test]
fn wrong_expectations_are_reported() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut document = load();
    for case in document["cases"].as_array_mut().expect("cases") {
        if case["abi"] == true {
            continue;
        }
        let steps = case["steps"].as_array_mut().expect("steps");
        let expect = &mut steps.last_mut().expect("a step")["expect"];
        let wrong = if expect["status"] == "OK" { "ERROR_PARSE" } else { "OK" };
        expect["status"] = json!(wrong);
        assert_ne!(run(case, &mut Vec::new()), "", "{}", case["name"]);
    }
}

/// Runs one case with failing calls; returns their number, and what is wrong.
fn run_with(hooks: &faults::Hooks, fault: faults::Fault, case: &Value) -> (i64, String) {
    const KEPT: &str = "the library keeps memory";
    let attempt = || {
        let mut failures = 0;
        let held = hooks.held();
        let mut wrong = run_by(case, &mut Vec::new(), &mut |step, world| {
            faults::call(hooks, fault, step, world, &mut failures)
        });
        if wrong.is_empty() && hooks.held() != held {
            KEPT.clone_into(&mut wrong);
        }
        (failures, wrong)
    };
    match attempt() {
        // What is made once for the process is not made a second time.
        (failures, wrong) if wrong == KEPT => (failures, attempt().1),
        other => other,
    }
}

fn fail_each_call(forever: bool) {
    let hooks = faults::Hooks::load(&std::env::var("DLBRIDGE_FAULTS").unwrap());
    let mut all = 0;
    for case in load()["cases"].as_array().expect("cases") {
        for first in 1.. {
            if case["abi"] == true {
                break;
            }
            let (failures, wrong) = run_with(&hooks, faults::Fault { first, forever }, case);
            assert_eq!(wrong, "", "{}, from call {first}", case["name"]);
            all += failures;
            if failures == 0 {
                break;
            }
        }
    }
    assert!(all > 1000, "only {all} calls failed");
}

#[test]
fn each_call_of_the_library_fails_once() {
    if faults::in_own_process("each_call_of_the_library_fails_once") {
        fail_each_call(false);
    }
}

#[test]
fn all_calls_of_the_library_fail() {
    if faults::in_own_process("all_calls_of_the_library_fail") {
        fail_each_call(true);
    }
}

/// What a callback owns is dropped, uncalled, by the call that fails.
#[test]
fn callbacks_of_failed_calls_are_dropped() {
    if !faults::in_own_process("callbacks_of_failed_calls_are_dropped") {
        return;
    }
    let hooks = faults::Hooks::load(&std::env::var("DLBRIDGE_FAULTS").unwrap());
    let kept = std::sync::Arc::new(());
    let owned = || {
        let kept = kept.clone();
        move || panic!("called: {kept:?}")
    };
    let memory = [0_u8; 4];
    let buffer = dlbridge::Buffer::address(&raw const memory);
    let spec = dlbridge::WrapSpec::new(buffer, dlbridge::Dtype::U8, &[4]);
    let release = || {
        let owned = owned();
        move |_: dlbridge::Released| owned()
    };
    // SAFETY: no tensor is made.
    let (made, _) = hooks.fail(1, true, || unsafe { spec.wrap_with(release()) });
    assert_eq!(made.unwrap_err().status(), dlbridge::Status::OUT_OF_MEMORY);
    // SAFETY: as above.
    let (made, _) = hooks.fail(1, true, || unsafe { spec.wrap_legacy_with(release()) });
    assert_eq!(made.unwrap_err().status(), dlbridge::Status::OUT_OF_MEMORY);
    assert_eq!(std::sync::Arc::strong_count(&kept), 1);
    // Owners are returned: a vector, an Arc, and any other.
    let (made, _) =
        hooks.fail(1, true, || dlbridge::UniqueTensor::try_from_vec(vec![1_i32, 2], &[2]));
    assert_eq!(made.unwrap_err().value, [1, 2]);
    let shared: std::sync::Arc<[i32]> = vec![1, 2].into();
    let (made, _) = hooks.fail(1, true, || dlbridge::Tensor::try_from_arc(shared.clone(), &[2]));
    assert_eq!(made.unwrap_err().value, shared);
    assert_eq!(std::sync::Arc::strong_count(&shared), 1);
    let (made, _) =
        hooks.fail(1, true, || dlbridge::Tensor::try_from_owner::<i32, _>(vec![1, 2], &[2]));
    assert_eq!(*made.unwrap_err().value, [1, 2]);
    export_and_import(&hooks);
}

/// A message for another process: each call of the C library fails once, and no descriptor is left.
fn export_and_import(hooks: &faults::Hooks) {
    let spec = dlbridge::AllocateSpec::new(dlbridge::Dtype::F32, &[3]).shareable();
    let tensor = spec.allocate().unwrap().zeroed().unwrap().into_shared();
    let files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let (before, mut all) = (files(), 0);
    for nth in 1..100 {
        let (message, failed) = hooks.fail(nth, false, || tensor.ipc_export());
        let message = message.or_else(|_| tensor.ipc_export()).unwrap();
        let fds = message.fds.iter().map(std::os::fd::AsFd::as_fd).collect::<Vec<_>>();
        let policy = dlbridge::Policy::DEFAULT;
        let import = || {
            // SAFETY: nothing writes to it.
            unsafe { dlbridge::Tensor::ipc_import(&message.bytes, &fds, &policy) }
        };
        let (imported, failed_then) = hooks.fail(nth, false, import);
        assert_eq!(imported.or_else(|_| import()).unwrap().shape(), [3]);
        all += failed + failed_then;
        if failed + failed_then == 0 {
            break;
        }
    }
    assert!(all >= 5, "only {all} calls failed");
    assert_eq!(files(), before);
}
