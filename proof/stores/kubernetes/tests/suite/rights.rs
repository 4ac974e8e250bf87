//! Users and their rights.

use std::time::Duration;

use dlock_cas::{CasAdmin, CasStore};
use dlock_core::{
    ErrorKind, Provider, ProviderError,
    provider::{Admin, List, Release},
};
use dlock_kubernetes::KubernetesProvider;
use dlock_kubernetes_proof::{ADMIN, PREFIX, Server, USER, client, provider};
use dlock_proof::stores::term;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding, RoleRef, Subject};
use kube::{Api, ResourceExt, api::PostParams};
use tokio::time::timeout;
use uuid::Uuid;

const README: &str = include_str!("../../../../../stores/kubernetes/README.md");

/// How long the server may take to apply a change of a role.
const PATIENCE: Duration = Duration::from_secs(60);

/// The role that the documentation of the crate gives.
async fn role(server: &Server, namespace: &str) -> Role {
    let (_, rest) = README.split_once("```yaml\n").unwrap();
    let (manifest, _) = rest.split_once("```").unwrap();
    let url = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles");
    let request = http::Request::post(url).header("content-type", "application/yaml");
    let request = request.body(manifest.as_bytes().to_vec()).unwrap();
    let admin = server.client(ADMIN).await;
    admin.request(request).await.unwrap()
}

/// Gives the user the role.
async fn bind(server: &Server, namespace: &str, role: &Role) {
    let mut binding = RoleBinding {
        role_ref: RoleRef {
            api_group: "rbac.authorization.k8s.io".into(),
            kind: "Role".into(),
            name: role.name_any(),
        },
        subjects: Some(vec![Subject {
            kind: "User".into(),
            name: USER.into(),
            ..Subject::default()
        }]),
        ..RoleBinding::default()
    };
    binding.metadata.name = Some("user".into());
    let bindings: Api<RoleBinding> = Api::namespaced(server.client(ADMIN).await, namespace);
    let made = bindings.create(&PostParams::default(), &binding).await;
    made.unwrap();
}

/// Makes a call for which the user needs this verb, on locks that the administrator has created.
async fn use_verb(
    verb: &str,
    user: &KubernetesProvider,
    admin: &KubernetesProvider,
) -> Result<(), ProviderError> {
    let name = Uuid::new_v4().to_string();
    let key = format!("{PREFIX}/{name}");
    let a = term(&name);
    if verb != "create" {
        admin.acquire(&a).await?;
    }
    match verb {
        "create" => user.acquire(&a).await.map(drop),
        "get" => user.read(&a.name).await.map(drop),
        "list" => user.list(&List::new("")).await.map(drop),
        "watch" => user.watch().await.map(drop),
        "patch" => {
            let release = Release::new(a.name, a.new, None);
            user.release(&release).await.map(drop)
        }
        "delete" => {
            let seen = admin.store().get(&key).await?.unwrap();
            user.store().delete_if(&key, &seen.version).await.map(drop)
        }
        other => panic!("nothing takes the verb {other:?}"),
    }
}

#[tokio::test]
async fn role_of_the_documentation_is_enough_and_without_any_of_its_verbs_it_is_not() {
    let server = Server::shared().await;
    let namespace = server.namespace().await;
    let admin = server.provider(&namespace).await;
    let user = provider(server.client(USER).await, &namespace);
    let mut role = role(server, &namespace).await;
    bind(server, &namespace, &role).await;
    let verbs = role.rules.as_ref().unwrap()[0].verbs.clone();
    assert_eq!(verbs.len(), 6);
    let all_are_granted = async {
        for verb in &verbs {
            while let Err(error) = use_verb(verb, &user, &admin).await {
                assert_eq!(error.kind(), ErrorKind::Fatal, "{verb}: {error:?}");
            }
        }
    };
    timeout(PATIENCE, all_are_granted).await.unwrap();

    let roles: Api<Role> = Api::namespaced(server.client(ADMIN).await, &namespace);
    for verb in &verbs {
        let others = verbs.iter().filter(|other| *other != verb).cloned();
        role.rules.as_mut().unwrap()[0].verbs = others.collect();
        role.metadata.resource_version = None;
        let params = PostParams::default();
        roles
            .replace(&role.name_any(), &params, &role)
            .await
            .unwrap();
        let is_refused = async {
            loop {
                if let Err(error) = use_verb(verb, &user, &admin).await {
                    let of_this = format!("cannot {verb} resource");
                    // The server may apply the previous roles for a moment longer.
                    if format!("{error:?}").contains(&of_this) {
                        return error;
                    }
                }
            }
        };
        let error = timeout(PATIENCE, is_refused).await.unwrap();
        assert_eq!(error.kind(), ErrorKind::Fatal, "{verb}: {error:?}");
        assert!(error.to_string().contains(verb), "{error}");
        assert!(error.to_string().contains(&namespace), "{error}");
    }
}

#[tokio::test]
async fn unknown_users_and_namespaces_that_are_not_there_are_fatal() {
    let server = Server::shared().await;
    let namespace = server.namespace().await;
    let a = term("door");
    let stranger = client(&server.kubeconfig("stranger"), PATIENCE).await;
    let stranger = provider(stranger, &namespace);
    let nowhere = server.provider("nowhere").await;
    let nobody = provider(server.client(USER).await, "nowhere");
    for provider in [stranger, nowhere, nobody] {
        let error = provider.acquire(&a).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    }
}
