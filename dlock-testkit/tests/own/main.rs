//! The kit's own promises: it detects wrong behaviour, and right behaviour passes.

mod answers;
mod faults;
mod memory_store;
#[cfg(feature = "wire")]
mod planted_wire;
#[cfg(feature = "wire")]
mod proxy;
#[cfg(feature = "wire")]
mod proxy_faults;
#[cfg(feature = "wire")]
mod proxy_http2;
mod slow;
mod storage;
mod suite;
#[cfg(feature = "wire")]
mod tcp;
#[cfg(feature = "wire")]
mod wire;
