// SPDX-License-Identifier: Apache-2.0
//! Rust types that elements can be read as.

use crate::dtype::Dtype;

/// A type that is laid out as elements of [`Element::DTYPE`].
///
/// # Safety
///
/// Size and layout are those of the dtype, every pattern of bits is a value, and there is no
/// padding, no pointer and no interior mutability. The compiler checks that the sizes are
/// equal:
///
/// ```compile_fail,E0080
/// #[derive(Clone, Copy)]
/// struct Nibble(u8);
/// // Two of them share a byte, so a slice of such elements would be twice as long as the memory.
/// unsafe impl dlbridge::Element for Nibble {
///     const DTYPE: dlbridge::Dtype = dlbridge::Dtype::new(dlbridge::sys::kDLUInt, 4, 1);
/// }
/// let tensor = dlbridge::UniqueTensor::from_vec(vec![0_u8], &[1]).unwrap();
/// let _ = tensor.as_slice::<Nibble>();
/// ```
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The dtype of its elements.
    const DTYPE: Dtype;
}

/// Is `T` as large as an element of its dtype?
pub(crate) const fn fills_its_dtype<T: Element>() -> bool {
    T::DTYPE.bits as usize * T::DTYPE.lanes as usize == 8 * size_of::<T>()
}

macro_rules! elements {
    ($($type:ty = $dtype:ident,)*) => {
        // SAFETY: plain numbers of the dtype's width.
        $(unsafe impl Element for $type {
            const DTYPE: Dtype = Dtype::$dtype;
        })*
    };
}

elements! {
    i8 = I8, i16 = I16, i32 = I32, i64 = I64,
    u8 = U8, u16 = U16, u32 = U32, u64 = U64,
    f32 = F32, f64 = F64,
}

#[cfg(feature = "half")]
elements! { half::f16 = F16, half::bf16 = BF16, }

/// A boolean element, as its byte: foreign memory may hold bytes other than 0 and 1, which would be
/// undefined behaviour for Rust's `bool`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bool(pub u8);

impl Bool {
    /// Is it anything but 0?
    #[must_use]
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    fn from(value: bool) -> Self {
        Self(u8::from(value))
    }
}

/// A complex number: real part, then imaginary part.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex<T> {
    /// Real part.
    pub re: T,
    /// Imaginary part.
    pub im: T,
}

elements! { Bool = BOOL, Complex<f32> = COMPLEX64, Complex<f64> = COMPLEX128, }
