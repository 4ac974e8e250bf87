//! The events of leases that a server has seen.

use std::time::Duration;

use dlock_core::{
    Name, Provider,
    provider::{Acquire, Release, Renew},
};
use dlock_testkit::faults::Op;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    rights::rights,
    support::{ACQUIRE, Api, RELEASE, acquire, shown, uuid},
};

const HISTORY: &str = "/v1/default/leases/history?name=door";
const LIST: &str = "/v1/default/leases";

async fn entries(api: &Api) -> Vec<Value> {
    let history = api.get(HISTORY).await;
    assert_eq!(history.status, 200, "{history:?}");
    history.body["entries"].as_array().unwrap().clone()
}

async fn whats(api: &Api) -> Vec<String> {
    let entries = entries(api).await;
    let whats = entries.iter().map(|entry| entry["what"].as_str().unwrap());
    whats.map(ToOwned::to_owned).collect()
}

async fn post(api: &Api, what: &str, body: Value) {
    let answer = api.post(&format!("{LIST}/{what}"), body).await;
    assert_eq!(answer.status, 200, "{what}: {answer:?}");
}

#[tokio::test]
async fn what_goes_through_the_server_is_known_without_a_look() {
    let api = Api::new();
    assert_eq!(whats(&api).await, [""; 0]);
    let mut tokens = Vec::new();
    for number in 1..=3 {
        let answer = api.post(ACQUIRE, acquire("door", number)).await;
        tokens.push(answer.body["token"].clone());
        match number {
            1 => {
                post(&api, "ask", json!({"name": "door", "uuid": shown(1)})).await;
                post(&api, "release", json!({"name": "door", "uuid": uuid(1)})).await;
                // A repeat is one event.
                post(&api, "release", json!({"name": "door", "uuid": uuid(1)})).await;
            }
            2 => {
                let force = json!({"name": "door", "uuid": shown(2), "token": tokens[1]});
                post(&api, "force", force).await;
            }
            _ => {
                let version = json!({"uuid": shown(3), "renewals": 0});
                post(&api, "revoke", json!({"name": "door", "version": version})).await;
            }
        }
    }
    let expected = [
        "granted", "asked", "released", "granted", "forced", "granted", "revoked",
    ];
    assert_eq!(whats(&api).await, expected);
    let entries = entries(&api).await;
    assert_eq!(entries[6]["token"], tokens[2]);
    assert!(entries.iter().all(|entry| entry["within_ms"] == 0));
    assert_eq!(api.store.count(Op::List) + api.store.count(Op::Read), 0);
    let page = api.get(LIST).await.body;
    assert_eq!(page["leases"][0]["revoked"], true);
    assert_eq!(whats(&api).await, expected);
}

#[tokio::test]
async fn what_happens_without_the_server_is_known_from_its_looks() {
    let api = Api::new();
    let (name, second) = (Name::new("default/door").unwrap(), Duration::from_secs(30));
    let [one, two] = [Uuid::new_v4(), Uuid::new_v4()];
    let take = |uuid, owner| Acquire::new(name.clone(), uuid, second).owner(owner);
    api.store.acquire(&take(one, "web-1")).await.unwrap();
    api.get(LIST).await;
    for n in 1..=3 {
        let renewal = Renew::new(name.clone(), one, n);
        api.store.renew(&renewal).await.unwrap();
    }
    api.get(LIST).await;
    let release = Release::new(name.clone(), one, None);
    api.store.release(&release).await.unwrap();
    api.store.acquire(&take(two, "web-2")).await.unwrap();
    // Reading one name is a look, too.
    api.get("/v1/default/leases/one?name=door").await;
    assert_eq!(whats(&api).await, ["held", "renewed", "granted"]);
    let entries = entries(&api).await;
    assert_eq!(entries[0].get("within_ms"), None);
    assert_eq!(entries[1]["times"], 3);
    assert_eq!(entries[2]["owner"], "web-2");
    assert!(entries[2]["within_ms"].as_u64().unwrap() < 60_000);
}

#[tokio::test]
async fn a_history_is_for_those_who_may_read_its_namespace() {
    let api = Api::new();
    assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
    let release = json!({"name": "door", "uuid": uuid(1)});
    assert_eq!(api.post(RELEASE, release).await.status, 200);
    let other = api.get("/v1/other/leases/history?name=door").await;
    assert_eq!((other.status, &other.body["entries"]), (200, &json!([])));
    let mut api = api;
    for (right, status) in [("hold", 403), ("read", 200)] {
        api.restrict(&rights(right, "default"));
        api.token = Some("secret".to_owned());
        assert_eq!(api.get(HISTORY).await.status, status, "{right}");
    }
}
