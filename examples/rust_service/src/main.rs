// SPDX-License-Identifier: Apache-2.0
//! A service that averages the rows of tensors: any framework's go in, tensors of ndarray come out.

use dlbridge::{ConvertOptions, Error, Kind, Policy, Tensor, UniqueTensor};
use ndarray::{array, Array2, Axis};
use std::sync::mpsc::{channel, Sender};
use std::{ffi::c_void, thread};

/// Takes the tensor of a plugin: a matrix with three columns.
///
/// # Safety
///
/// `given` is a live DLPack tensor of either kind that the caller owns.
unsafe fn accept(given: *mut c_void) -> Result<Tensor, Error> {
    let options = ConvertOptions::new();
    let rows_of_three = Policy::new().shape(&[-1, 3]);
    // SAFETY: guaranteed by the caller. On failure `given` is untouched and still the plugin's.
    unsafe { dlbridge::import(given, Kind::Unknown, &options.policy(&rows_of_three)) }
}

fn average(request: &Tensor) -> Result<Tensor, Box<dyn std::error::Error + Send + Sync>> {
    let rows = request.as_view().as_array::<f32>()?; // the request's own memory, whatever its strides
    let mean = rows.mean_axis(Axis(0)).ok_or("expected at least one row, found none")?;
    Ok(UniqueTensor::from_array(mean)?.into_shared())
}

type Reply = Sender<Result<Tensor, Box<dyn std::error::Error + Send + Sync>>>;

fn serve() -> Sender<(Tensor, Reply)> {
    let (send, receive) = channel::<(Tensor, Reply)>();
    thread::spawn(move || {
        for (request, reply) in receive {
            let _ = reply.send(average(&request)); // the client may be gone
        }
    });
    send
}

/// What a plugin returns: the memory of an array as a tensor, without a copy.
fn plugin(rows: Array2<f32>) -> Result<*mut c_void, Error> {
    Ok(UniqueTensor::from_array(rows)?.into_shared().into_raw().as_ptr().cast())
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let service = serve();
    let (reply, answers) = channel();
    let rows = array![[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]];
    service.send((unsafe { accept(plugin(rows)?) }?, reply))?;
    println!("{}", answers.recv()??.as_view().as_array::<f32>()?);

    let wrong = plugin(array![[1.0, 2.0]])?;
    if let Err(error) = unsafe { accept(wrong) } {
        println!("{error}");
        unsafe { dlbridge::release(wrong, Kind::Versioned) }?; // still the plugin's
    }
    Ok(())
}
