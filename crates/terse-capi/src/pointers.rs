//! What C promises of a pointer becomes a reference or a slice here, and nowhere else: clippy.toml lists the functions that may be
//! called in this file alone. The exception are the references in the signatures of functions with C's names (`Option<&T>`,
//! `Option<&mut T>`, `Option<Box<T>>`), which are pointers to C.
//!
//! Unsafe, because a pointer of C has no length and no lifetime: the header says what a caller promises of each.
#![allow(unsafe_code, clippy::disallowed_methods)]

use alloc::boxed::Box;
use core::ffi::{CStr, c_char};
use core::ops::RangeInclusive;

use crate::TerseError;

/// Returns the `len` bytes at `data`, which may be NULL only if there are none.
///
/// # Safety
///
/// `data` is NULL, or has `len` readable bytes that nobody changes while the slice is used.
pub(crate) unsafe fn bytes<'a>(data: *const u8, len: usize) -> Result<&'a [u8], TerseError> {
    check(data.is_null(), len)?;
    if len == 0 {
        return Ok(&[]);
    }
    // SAFETY: the pointer is not NULL, the length is at most isize::MAX, and the caller promises the rest.
    Ok(unsafe { core::slice::from_raw_parts(data, len) })
}

/// Returns the numbers at `data`, whose count must be in `range`.
///
/// # Safety
///
/// `data` is NULL, or has `len` numbers that nobody changes while the slice is used.
pub(crate) unsafe fn numbers<'a>(
    data: *const u16,
    len: usize,
    range: RangeInclusive<usize>,
) -> Result<&'a [u16], TerseError> {
    if data.is_null() {
        return Err(TerseError::NullPointer);
    }
    if !range.contains(&len) || !data.is_aligned() {
        return Err(TerseError::InvalidArgument);
    }
    // SAFETY: the pointer is aligned and not NULL, and the caller promises that there are as many numbers.
    Ok(unsafe { core::slice::from_raw_parts(data, len) })
}

/// Returns the `len` bytes at `data` to change them in place.
///
/// # Safety
///
/// `data` is NULL, or has `len` initialized bytes that nobody else uses while the slice is used.
pub(crate) unsafe fn bytes_mut<'a>(data: *mut u8, len: usize) -> Result<&'a mut [u8], TerseError> {
    check(data.is_null(), len)?;
    if len == 0 {
        return Ok(&mut []);
    }
    // SAFETY: the pointer is not NULL, the length is at most isize::MAX, and the caller promises the rest.
    Ok(unsafe { core::slice::from_raw_parts_mut(data, len) })
}

/// Returns a buffer of C to write to. It is filled with zeros first, since C need not have initialized it.
///
/// # Safety
///
/// `data` is NULL, or has `len` writable bytes that nobody else uses while the slice is used.
pub(crate) unsafe fn buffer<'a>(data: *mut u8, len: usize) -> Result<&'a mut [u8], TerseError> {
    check(data.is_null(), len)?;
    if len > 0 {
        // SAFETY: the pointer is not NULL, and the caller promises that there are `len` writable bytes.
        unsafe { data.write_bytes(0, len) };
    }
    // SAFETY: as the caller promises; now the bytes are initialized, too.
    unsafe { bytes_mut(data, len) }
}

fn check(is_null: bool, len: usize) -> Result<(), TerseError> {
    if is_null && len > 0 {
        return Err(TerseError::NullPointer);
    }
    if len > isize::MAX as usize {
        return Err(TerseError::InvalidArgument); // no object is as long: some negative number, most likely
    }
    Ok(())
}

/// Writes a result to where C wants it.
///
/// # Safety
///
/// `place` is NULL, or is aligned and may be written.
pub(crate) unsafe fn write<T>(place: *mut T, value: T) -> Result<(), TerseError> {
    if place.is_null() {
        return Err(TerseError::NullPointer);
    }
    // SAFETY: it is not NULL, and the caller promises the rest.
    unsafe { place.write(value) };
    Ok(())
}

/// Returns the text at `text`, which ends with a NUL.
///
/// # Safety
///
/// `text` is NULL, or a string of C that nobody changes while the slice is used.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, TerseError> {
    if text.is_null() {
        return Err(TerseError::NullPointer);
    }
    // SAFETY: it is not NULL, and the caller promises that it ends with a NUL.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| TerseError::InvalidArgument)
}

/// Gives an object to C, which owns it from then on.
///
/// # Safety
///
/// `place` is not NULL, is aligned, and may be written.
pub(crate) unsafe fn give<T>(place: *mut *mut T, object: T) {
    // SAFETY: as the caller promises.
    unsafe { place.write(Box::into_raw(Box::new(object))) };
}

/// Copies `text` to a buffer of C, with a NUL at its end, and its length without the NUL to `len`, which may be NULL.
/// Writes no text if there is no room for all of it.
///
/// # Safety
///
/// `out` is NULL, or has `capacity` writable bytes; `len` is NULL, or is aligned and may be written.
pub(crate) unsafe fn write_text(
    text: &[u8],
    out: *mut c_char,
    capacity: usize,
    len: *mut usize,
) -> Result<(), TerseError> {
    if !len.is_null() {
        // SAFETY: as the caller promises.
        unsafe { len.write(text.len()) };
    }
    // SAFETY: as the caller promises.
    let out = unsafe { buffer(out.cast(), capacity) }?;
    let place = out.get_mut(..=text.len()).ok_or(TerseError::BufferTooSmall)?;
    place[..text.len()].copy_from_slice(text);
    Ok(())
}

/// Frees an object of C, which may be NULL, unless it is in use, and then leaks it.
///
/// # Safety
///
/// `object` is NULL, or what [`give`] gave and nobody has freed.
pub(crate) unsafe fn free_unless<T>(object: *mut T, is_in_use: impl FnOnce(&T) -> bool) {
    // SAFETY: as the caller promises.
    if unsafe { object.as_ref() }.is_some_and(|object| !is_in_use(object)) {
        // SAFETY: `give` made it of a box, and nobody uses it.
        drop(unsafe { Box::from_raw(object) });
    }
}

/// Writes the first `size` bytes of `object`, which has no pointers; what `place` has beyond an object becomes 0.
///
/// # Safety
///
/// `place` is NULL, or has `size` writable bytes.
pub(crate) unsafe fn write_prefix<T: Copy>(place: *mut T, size: usize, object: &T) -> Result<(), TerseError> {
    // SAFETY: as the caller promises.
    let place = unsafe { buffer(place.cast(), size) }?;
    let len = size.min(size_of::<T>());
    // SAFETY: the object has as many bytes, and the place, too. Padding is copied without being read.
    unsafe { place.as_mut_ptr().copy_from_nonoverlapping(core::ptr::from_ref(object).cast(), len) };
    Ok(())
}
