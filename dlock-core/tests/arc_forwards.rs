//! `Arc<P>` is the provider inside: every method reaches it, the provided ones too. A default in
//! the wrapper would silently lose what the provider can do.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Capabilities, Discipline, List, Page,
        Release, ReleaseOutcome, Renew, RenewOutcome, Revoke, RevokeOutcome, Sharing, Version,
        Wakeups,
    },
};
use uuid::Uuid;

/// Records which of its methods was called.
#[derive(Default)]
struct Counting {
    called: Mutex<Vec<&'static str>>,
    sharing: Sharing,
}

impl Counting {
    fn note(&self, method: &'static str) {
        self.called.lock().unwrap().push(method);
    }
}

#[async_trait]
impl Provider for Counting {
    fn capabilities(&self) -> Capabilities {
        self.note("capabilities");
        Capabilities::new("counting", Discipline::Observer)
    }

    async fn acquire(&self, _: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        self.note("acquire");
        Ok(AcquireOutcome::Spent)
    }

    async fn renew(&self, _: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.note("renew");
        Ok(RenewOutcome::Lost(None))
    }

    async fn release(&self, _: &Release) -> Result<ReleaseOutcome, ProviderError> {
        self.note("release");
        Ok(ReleaseOutcome::Released { wanted: false })
    }

    async fn read(&self, _: &Name) -> Result<Option<Record>, ProviderError> {
        self.note("read");
        Ok(None)
    }

    async fn renew_many(&self, _: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        self.note("renew_many");
        Vec::new()
    }

    fn shard(&self, _: &Name) -> u64 {
        self.note("shard");
        7
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        self.note("watch");
        Ok(None)
    }

    fn sharing(&self) -> Option<&Sharing> {
        self.note("sharing");
        Some(&self.sharing)
    }
}

#[async_trait]
impl Admin for Counting {
    async fn list(&self, _: &List) -> Result<Page, ProviderError> {
        self.note("list");
        Ok(Page::default())
    }

    async fn revoke(&self, _: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        self.note("revoke");
        Ok(RevokeOutcome::Revoked)
    }

    async fn ask(&self, _: &Ask) -> Result<AskOutcome, ProviderError> {
        self.note("ask");
        Ok(AskOutcome::Asked)
    }

    async fn purge(&self, _: usize) -> Result<u64, ProviderError> {
        self.note("purge");
        Ok(0)
    }

    async fn force_release(&self, _: &Name, _: &Record) -> Result<ReleaseOutcome, ProviderError> {
        self.note("force_release");
        Ok(ReleaseOutcome::Released { wanted: false })
    }
}

/// Through a generic bound, so that no method is found on the provider inside by dereferencing.
async fn call_everything(admin: &impl Admin) {
    let name = Name::new("a").unwrap();
    let uuid = Uuid::from_u128(1);
    let since = std::time::SystemTime::UNIX_EPOCH;
    let second = std::time::Duration::from_secs(1);
    let record = Record::new(uuid, "", since, 1.try_into().unwrap(), second);
    admin.capabilities();
    admin
        .acquire(&Acquire::new(name.clone(), uuid, second))
        .await
        .unwrap();
    admin
        .renew(&Renew::new(name.clone(), uuid, 1))
        .await
        .unwrap();
    admin
        .release(&Release::new(name.clone(), uuid, None))
        .await
        .unwrap();
    admin.read(&name).await.unwrap();
    // The provided one would call `renew` for each.
    assert!(
        admin
            .renew_many(&[Renew::new(name.clone(), uuid, 1)])
            .await
            .is_empty()
    );
    assert_eq!(admin.shard(&name), 7);
    assert!(admin.watch().await.unwrap().is_none());
    assert!(admin.sharing().is_some());
    admin.list(&List::new("")).await.unwrap();
    admin
        .revoke(&Revoke::new(name.clone(), Version { uuid, renewals: 0 }).unwrap())
        .await
        .unwrap();
    admin.ask(&Ask::new(name.clone(), uuid)).await.unwrap();
    admin.purge(1).await.unwrap();
    // The provided one would call `release`.
    admin.force_release(&name, &record).await.unwrap();
}

#[tokio::test]
async fn every_method_reaches_the_provider_inside() {
    let inside = Arc::new(Counting::default());
    call_everything(&inside).await;
    let expected = [
        "capabilities",
        "acquire",
        "renew",
        "release",
        "read",
        "renew_many",
        "shard",
        "watch",
        "sharing",
        "list",
        "revoke",
        "ask",
        "purge",
        "force_release",
    ];
    assert_eq!(*inside.called.lock().unwrap(), expected);
    // And through a trait object.
    let erased: Arc<dyn Admin> = Arc::clone(&inside) as _;
    inside.called.lock().unwrap().clear();
    call_everything(&erased).await;
    assert_eq!(*inside.called.lock().unwrap(), expected);
}
