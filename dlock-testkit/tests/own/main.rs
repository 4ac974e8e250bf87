//! The kit's own promises: what is wrong is noticed, and what is right passes.

mod cancelling_bites;
mod faults;
mod memory_store;
mod planted_wire;
mod proxy;
mod recorder;
mod reliability;
mod reserving;
mod rules;
mod storage;
mod suite;
mod tcp;
mod wire;
