//! A value whose address stays the same wherever its owner moves.
#![allow(unsafe_code)]

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Owns a value that others have pointers to. Unlike a box it may be moved without an end to those pointers; but while
/// one of them is used, nobody uses a reference from here.
pub(crate) struct Fixed<T>(NonNull<T>);

// SAFETY: it owns the value like a box. What has pointers to it says why those may be sent.
unsafe impl<T: Send> Send for Fixed<T> {}

impl<T> Fixed<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(NonNull::from(Box::leak(Box::new(value))))
    }

    /// The value's address, as long as this is not dropped.
    pub(crate) fn pointer(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> Deref for Fixed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the value lives, and who holds this may read it.
        unsafe { self.0.as_ref() }
    }
}

impl<T> DerefMut for Fixed<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the value lives, and who holds this exclusively may change it.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for Fixed<T> {
    fn drop(&mut self) {
        // SAFETY: made by `Box::leak` in `new`; nobody uses a pointer to the value any more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
