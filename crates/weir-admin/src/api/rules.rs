use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::ETAG;
use axum::response::{IntoResponse, Response};

use super::input::{Body, IfMatch, MustMatch};
use super::{Controls, blocking, looking};
use crate::access;
use crate::error::{ApiError, Code, ErrorBody};
use crate::rules::{Changed, Move, NewRule, Place, RuleState, RuleTable, RuleText, RulesAsked};

/// The rules in force, in their order, with what was counted.
#[utoipa::path(
    get, path = "/rules", tag = "rules", operation_id = "list_rules", params(RulesAsked),
    responses(
        (status = 200, body = RuleTable),
        (status = 400, description = "`bad_request`: an unknown parameter or value", body = ErrorBody),
    )
)]
pub(super) async fn list(
    State(control): State<Controls>,
    asked: Result<Query<RulesAsked>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(asked) = asked.map_err(|error| ApiError::new(Code::BadRequest, error.body_text()))?;
    let table = blocking(control, move |control| control.rules(asked)).await?;
    let tag = [(ETAG, format!("\"{}\"", table.version))];
    Ok((tag, table).into_response())
}

/// What the log tells of a rule that was sent: its name, and where it is to stand or stands. Its values may hold literals.
#[derive(serde::Serialize)]
struct Told<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<usize>,
}

/// What is sent names the rule.
async fn told(
    control: &Controls,
    (rule, toml): (Option<&serde_json::Value>, Option<&str>),
    place: Option<&Place>,
) -> Result<(), ApiError> {
    let named = match toml.map(str::to_owned) {
        Some(toml) => blocking(Controls::clone(control), move |control| Ok(control.name_in(&toml))).await?.0,
        None => None,
    };
    let rule = rule.and_then(|rule| rule.get("name")?.as_str()).or(named.as_deref());
    access::note(&Told { rule, place, position: None });
    Ok(())
}

fn told_changed(changed: &Changed) {
    access::note(&Told { rule: Some(&changed.rule), place: None, position: changed.position });
}

/// Adds a rule.
#[utoipa::path(
    post, path = "/rules", tag = "rules", operation_id = "add_rule", request_body = NewRule,
    params(("If-Match" = Option<String>, Header, description = "the `version` of the rules that this is for")),
    responses(
        (status = 201, body = Changed),
        (status = 404, description = "`unknown_rule`: of the place", body = ErrorBody),
        (status = 409, description = "`duplicate_rule`, `file_changed`", body = ErrorBody),
        (status = 412, description = "`rules_changed`", body = ErrorBody),
        (status = 422, description = "`bad_rule`", body = ErrorBody),
        (status = 500, description = "`file_not_written`", body = ErrorBody),
    )
)]
pub(super) async fn add(
    State(control): State<Controls>,
    IfMatch(held): IfMatch,
    Body(new): Body<NewRule>,
) -> Result<Response, ApiError> {
    told(&control, (new.rule.as_ref(), new.toml.as_deref()), new.place.as_ref()).await?;
    let added = blocking(control, move |control| control.add(&new, held.as_deref())).await?;
    told_changed(&added);
    Ok((StatusCode::CREATED, added).into_response())
}

/// One rule.
#[utoipa::path(
    get, path = "/rules/{name}", tag = "rules", operation_id = "show_rule", params(("name" = String, Path)),
    responses((status = 200, body = RuleState), (status = 404, description = "`unknown_rule`", body = ErrorBody))
)]
pub(super) async fn show(
    State(control): State<Controls>,
    Path(name): Path<String>,
) -> Result<Json<RuleState>, ApiError> {
    looking(control, move |control| control.rule(&name)).await
}

/// Puts a rule in the place of another, in the list of rules that whoever asks has seen.
#[utoipa::path(
    put, path = "/rules/{name}", tag = "rules", operation_id = "replace_rule",
    params(("name" = String, Path), ("If-Match" = String, Header, description = "the `version` of the rules that this is for, or `*`")),
    request_body = RuleText,
    responses(
        (status = 200, body = Changed),
        (status = 404, description = "`unknown_rule`", body = ErrorBody),
        (status = 409, description = "`duplicate_rule`, `file_changed`", body = ErrorBody),
        (status = 412, description = "`rules_changed`", body = ErrorBody),
        (status = 422, description = "`bad_rule`", body = ErrorBody),
        (status = 428, description = "`version_needed`", body = ErrorBody),
        (status = 500, description = "`file_not_written`", body = ErrorBody),
    )
)]
pub(super) async fn replace(
    State(control): State<Controls>,
    Path(name): Path<String>,
    MustMatch(held): MustMatch,
    Body(new): Body<RuleText>,
) -> Result<Json<Changed>, ApiError> {
    told(&control, (new.rule.as_ref(), new.toml.as_deref()), None).await?;
    let replaced = blocking(control, move |control| control.replace(&name, &new, held.as_deref())).await?;
    told_changed(&replaced);
    Ok(replaced)
}

/// Removes a rule. What it had stored is no longer served.
#[utoipa::path(
    delete, path = "/rules/{name}", tag = "rules", operation_id = "remove_rule",
    params(("name" = String, Path), ("If-Match" = Option<String>, Header, description = "the `version` of the rules that this is for")),
    responses(
        (status = 200, body = Changed),
        (status = 404, description = "`unknown_rule`", body = ErrorBody),
        (status = 409, description = "`file_changed`", body = ErrorBody),
        (status = 412, description = "`rules_changed`", body = ErrorBody),
        (status = 500, description = "`file_not_written`", body = ErrorBody),
    )
)]
pub(super) async fn remove(
    State(control): State<Controls>,
    Path(name): Path<String>,
    IfMatch(held): IfMatch,
) -> Result<Json<Changed>, ApiError> {
    blocking(control, move |control| control.remove(&name, held.as_deref())).await
}

/// Puts a rule of the list somewhere else.
#[utoipa::path(
    post, path = "/rules/{name}/move", tag = "rules", operation_id = "move_rule",
    params(("name" = String, Path), ("If-Match" = Option<String>, Header, description = "the `version` of the rules that this is for")),
    request_body = Move,
    responses(
        (status = 200, body = Changed),
        (status = 404, description = "`unknown_rule`", body = ErrorBody),
        (status = 409, description = "`file_changed`", body = ErrorBody),
        (status = 412, description = "`rules_changed`", body = ErrorBody),
        (status = 422, description = "`bad_rule`: beside itself", body = ErrorBody),
        (status = 500, description = "`file_not_written`", body = ErrorBody),
    )
)]
pub(super) async fn move_to(
    State(control): State<Controls>,
    Path(name): Path<String>,
    IfMatch(held): IfMatch,
    Body(to): Body<Move>,
) -> Result<Json<Changed>, ApiError> {
    access::note(&to);
    blocking(control, move |control| control.move_to(&name, &to.place, held.as_deref())).await
}
