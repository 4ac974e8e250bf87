//! A cluster's description of its nodes: which node serves which slots.

use std::ops::RangeInclusive;

use dlock_core::ProviderError;
use redis::{Value, cmd};

use crate::{
    error::{self, Failure, is_reply},
    invoke::Invoker,
};

/// Some slots and the node that writes to them.
#[derive(Debug)]
pub(crate) struct Share {
    pub(crate) slots: RangeInclusive<u16>,
    pub(crate) primary: Node,
}

/// A node as the cluster describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// `None` if the cluster leaves the host out: it is then the host that was queried.
    pub(crate) host: Option<String>,
    pub(crate) port: u16,
}

/// The nodes and the slots that they serve; `None` if the server belongs to no cluster.
pub(crate) async fn shares(link: &Invoker) -> Result<Option<Vec<Share>>, ProviderError> {
    match link.command(cmd("CLUSTER").arg("SLOTS")).await {
        Ok(Value::Array(shares)) => shares
            .iter()
            .map(|share| {
                read(share).ok_or_else(|| error::nonsense("a range of slots that is none"))
            })
            .collect::<Result<_, _>>()
            .map(Some),
        Ok(_) => Err(error::nonsense("something else than slots")),
        // "ERR This instance has cluster support disabled"
        Err(Failure::Redis { error, .. }) if is_reply(&error) && error.code() == Some("ERR") => {
            Ok(None)
        }
        Err(failure) => Err(error::provider_error(failure)),
    }
}

/// `[first, last, [host, port, ..], ..]`
fn read(share: &Value) -> Option<Share> {
    let Value::Array(share) = share else {
        return None;
    };
    let [
        Value::Int(first),
        Value::Int(last),
        Value::Array(primary),
        ..,
    ] = share.as_slice()
    else {
        return None;
    };
    let [host, Value::Int(port), ..] = primary.as_slice() else {
        return None;
    };
    let host = match host {
        Value::BulkString(host) => String::from_utf8(host.clone()).ok()?,
        Value::SimpleString(host) => host.clone(),
        Value::Nil => String::new(),
        _ => return None,
    };
    Some(Share {
        slots: u16::try_from(*first).ok()?..=u16::try_from(*last).ok()?,
        primary: Node {
            host: Some(host).filter(|host| !host.is_empty()),
            port: u16::try_from(*port).ok()?,
        },
    })
}
