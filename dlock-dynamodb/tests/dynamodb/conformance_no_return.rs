//! The provider passes the conformance suite on a store that does not return the item that failed a
//! condition: the losers have to read it, and by then may read another one.

use aws_sdk_dynamodb::{
    Client,
    config::{
        ConfigBag, Intercept, RuntimeComponents,
        interceptors::BeforeSerializationInterceptorContextMut,
    },
    error::BoxError,
    operation::update_item::UpdateItemInput,
};

struct NoReturn;

impl crate::common::table::Kind for NoReturn {
    fn client(url: &str) -> Client {
        let settings = crate::common::settings(url).interceptor(AskForNoItem);
        Client::from_conf(settings.build())
    }
}

#[derive(Debug)]
struct AskForNoItem;

impl Intercept for AskForNoItem {
    fn name(&self) -> &'static str {
        "AskForNoItem"
    }

    fn modify_before_serialization(
        &self,
        context: &mut BeforeSerializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(input) = context.input_mut().downcast_mut::<UpdateItemInput>() {
            assert!(
                input
                    .return_values_on_condition_check_failure
                    .take()
                    .is_some()
            );
        }
        Ok(())
    }
}

crate::suite!(NoReturn);
