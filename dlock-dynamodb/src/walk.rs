//! The items of one provider, page by page of DynamoDB: a query if there is a sort key, otherwise a
//! scan of the whole table.

use std::collections::HashMap;

use aws_sdk_dynamodb::{config::Builder, types::AttributeValue};
use dlock_core::{Name, ProviderError};

use crate::{call::StoreDate, key::Keys, record::Item, store::Store};

/// The items of interest. Items of other applications have no uuid, and are passed over.
#[derive(Clone, Copy)]
pub(crate) enum Filter {
    /// All items that claim to be records.
    Records,
    /// Released ones.
    Released,
}

/// A walk over the items whose names start alike.
pub(crate) struct Walk<'a> {
    store: &'a Store,
    keys: &'a Keys,
    filter: Filter,
    /// The beginning of the key attribute that ends with the name.
    start: String,
    from: Option<Item>,
    over: bool,
    date: StoreDate,
}

/// The items of one page, and where the next one begins.
type Page = (Option<Vec<Item>>, Option<Item>);

impl<'a> Walk<'a> {
    pub(crate) fn new(store: &'a Store, keys: &'a Keys, filter: Filter, prefix: &str) -> Self {
        Self {
            store,
            keys,
            filter,
            start: keys.stored(prefix),
            from: None,
            over: false,
            date: StoreDate::default(),
        }
    }

    /// Whether the items come in the order of their names.
    pub(crate) fn ordered(&self) -> bool {
        self.keys.layout().sort.is_some()
    }

    /// Leaves out names up to this one, where that is possible.
    pub(crate) fn skip_to(&mut self, after: &Name) {
        let stored = self.keys.stored(after.as_str());
        // DynamoDB refuses to begin outside the queried range.
        if self.ordered() && stored.starts_with(&self.start) {
            self.from = Some(self.keys.of(stored).attributes());
        }
    }

    /// The store's clock at the last page, in seconds since 1970, if the reply had it.
    pub(crate) fn date(&self) -> Option<u64> {
        self.date.seconds()
    }

    /// The next page, which may be empty; `None` after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Item>>, ProviderError> {
        if self.over {
            return Ok(None);
        }
        let from = self.from.take();
        let settings = self.store.calls.repeated().interceptor(self.date.clone());
        let (items, last) = match &self.keys.layout().sort {
            Some(_) => self.query(from, settings).await?,
            None => self.scan(from, settings).await?,
        };
        self.from = last.filter(|key| !key.is_empty());
        self.over = self.from.is_none();
        Ok(Some(items.unwrap_or_default()))
    }

    async fn query(&self, from: Option<Item>, settings: Builder) -> Result<Page, ProviderError> {
        let (mut names, mut values, filter) = self.filter();
        names.insert("#p".into(), self.keys.layout().partition.clone());
        values.insert(
            ":p".into(),
            AttributeValue::S(self.keys.prefix().to_owned()),
        );
        let mut condition = "#p = :p".to_owned();
        // An empty string is no key from which a page could begin.
        if !self.start.is_empty() {
            condition.push_str(" AND begins_with(#k, :start)");
            self.begin(&mut names, &mut values);
        }
        let request = self
            .store
            .client
            .query()
            .table_name(&self.store.table)
            .consistent_read(true)
            .set_exclusive_start_key(from)
            .key_condition_expression(condition)
            .filter_expression(filter)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values))
            .customize()
            .config_override(settings);
        let output = request
            .send()
            .await
            .map_err(|error| self.store.error(error))?;
        Ok((output.items, output.last_evaluated_key))
    }

    async fn scan(&self, from: Option<Item>, settings: Builder) -> Result<Page, ProviderError> {
        let (mut names, mut values, filter) = self.filter();
        self.begin(&mut names, &mut values);
        let request = self
            .store
            .client
            .scan()
            .table_name(&self.store.table)
            .consistent_read(true)
            .set_exclusive_start_key(from)
            .filter_expression(format!("begins_with(#k, :start) AND {filter}"))
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values))
            .customize()
            .config_override(settings);
        let output = request
            .send()
            .await
            .map_err(|error| self.store.error(error))?;
        Ok((output.items, output.last_evaluated_key))
    }

    /// The filter, with its names and values.
    fn filter(&self) -> (HashMap<String, String>, Item, &'static str) {
        let mut names = HashMap::from([("#u".to_owned(), "uuid".to_owned())]);
        let mut values = Item::new();
        let filter = match self.filter {
            Filter::Records => "attribute_exists(#u)",
            Filter::Released => {
                names.insert("#r".into(), "released".into());
                values.insert(":true".into(), AttributeValue::Bool(true));
                "attribute_exists(#u) AND #r = :true"
            }
        };
        (names, values, filter)
    }

    /// Adds the name and the value of `begins_with(#k, :start)`.
    fn begin(&self, names: &mut HashMap<String, String>, values: &mut Item) {
        names.insert("#k".into(), self.keys.layout().name().to_owned());
        values.insert(":start".into(), AttributeValue::S(self.start.clone()));
    }
}
