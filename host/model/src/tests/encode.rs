//! Encoding of requests. `recorded` has whole conversations; these tests are of the differences between the APIs.

use serde_json::{Map, Value, json};

use super::{body, hello, request};
use crate::{Api, ApiOptions, EncodeError, MaxTokensKey, Request, Target};

fn with(change: &Value) -> Request {
    let mut value = serde_json::to_value(hello()).unwrap();
    for (key, field) in change.as_object().unwrap() {
        value[key] = field.clone();
    }
    request(value)
}

#[test]
fn the_smallest_request() {
    let message = json!({"role": "user", "content": "Hello"});
    assert_eq!(
        body(Api::OpenAiChat, &hello()),
        json!({"model": "model", "messages": [message], "max_completion_tokens": 100})
    );
    let message =
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]});
    assert_eq!(
        body(Api::OpenAiResponses, &hello()),
        json!({
            "model": "model", "input": [message], "max_output_tokens": 100, "store": false,
            "include": ["reasoning.encrypted_content"],
        })
    );
    let message = json!({"role": "user", "content": [{"type": "text", "text": "Hello"}]});
    assert_eq!(
        body(Api::Anthropic, &hello()),
        json!({"model": "model", "messages": [message], "max_tokens": 100})
    );
}

#[test]
fn headers_and_paths() {
    let options = ApiOptions::default();
    for (api, path, key, version) in [
        (Api::OpenAiChat, "/chat/completions", ("authorization", "Bearer "), false),
        (Api::OpenAiResponses, "/responses", ("authorization", "Bearer "), false),
        (Api::Anthropic, "/messages", ("x-api-key", ""), true),
    ] {
        for (streamed, accept) in [(false, "application/json"), (true, "text/event-stream")] {
            let target = Target { model: "model", max_output: 1, streamed, options: &options };
            let encoded = api.encode(&hello(), &target).unwrap();
            assert_eq!((encoded.path, api.key_header()), (path, key));
            assert!(encoded.headers.contains(&("accept", accept)));
            assert!(encoded.headers.contains(&("content-type", "application/json")));
            assert_eq!(encoded.headers.contains(&("anthropic-version", "2023-06-01")), version);
            let body: Value = serde_json::from_slice(&encoded.body).unwrap();
            assert_eq!(body.get("stream"), streamed.then_some(&json!(true)));
        }
    }
}

#[test]
fn choices_of_tools() {
    let tools = json!([{"name": "f", "parameters": {}}]);
    for (choice, chat, responses, anthropic) in [
        (json!("auto"), json!(null), json!(null), json!(null)),
        (json!("none"), json!("none"), json!("none"), json!({"type": "none"})),
        (json!("required"), json!("required"), json!("required"), json!({"type": "any"})),
        (
            json!({"named": "f"}),
            json!({"type": "function", "function": {"name": "f"}}),
            json!({"type": "function", "name": "f"}),
            json!({"type": "tool", "name": "f"}),
        ),
    ] {
        for (api, expected) in
            [(Api::OpenAiChat, chat), (Api::OpenAiResponses, responses), (Api::Anthropic, anthropic)]
        {
            let body = body(api, &with(&json!({"tools": tools, "tool_choice": choice})));
            assert_eq!(body["tool_choice"], expected);
            let schema = match api {
                Api::OpenAiChat => &body["tools"][0]["function"]["parameters"],
                Api::OpenAiResponses => &body["tools"][0]["parameters"],
                Api::Anthropic => &body["tools"][0]["input_schema"],
            };
            assert_eq!(*schema, json!({"type": "object"}));
        }
    }
    // Without tools, a choice has no meaning.
    for api in Api::ALL {
        let body = body(api, &with(&json!({"tool_choice": "required"})));
        assert_eq!((body.get("tools"), body.get("tool_choice")), (None, None));
    }
}

#[test]
fn schemas_of_the_output() {
    let strict = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    for (schema, expected) in [
        (strict.clone(), true),
        (json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}), false),
        (json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}), false),
        (
            json!({"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"], "additionalProperties": false}),
            false,
        ),
        (json!({"anyOf": [strict, {"type": "string"}]}), true),
    ] {
        let request = with(&json!({"output_schema": schema}));
        let chat = body(Api::OpenAiChat, &request);
        let format = json!({"name": "answer", "schema": schema, "strict": expected});
        assert_eq!(chat["response_format"], json!({"type": "json_schema", "json_schema": format}));
        let responses = body(Api::OpenAiResponses, &request);
        let format = json!({"type": "json_schema", "name": "answer", "schema": schema, "strict": expected});
        assert_eq!(responses["text"], json!({"format": format}));
        let anthropic = body(Api::Anthropic, &request);
        assert_eq!(anthropic["output_config"], json!({"format": {"type": "json_schema", "schema": schema}}));
    }
}

#[test]
fn files() {
    let part = |api: Api, media_type: &str, data: &str| {
        let media = json!({"media": {"media_type": media_type, "data": data}});
        let request = with(&json!({"messages": [{"role": "user", "blocks": [{"text": "a"}, media]}]}));
        let target = Target { model: "m", max_output: 1, streamed: false, options: &ApiOptions::default() };
        api.encode(&request, &target).map(|encoded| {
            let body: Value = serde_json::from_slice(&encoded.body).unwrap();
            let messages = if api == Api::OpenAiResponses { &body["input"] } else { &body["messages"] };
            messages[0]["content"][1].clone()
        })
    };
    for (api, media_type, expected) in [
        (
            Api::OpenAiChat,
            "image/png",
            json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}),
        ),
        (
            Api::OpenAiChat,
            "audio/wav",
            json!({"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}),
        ),
        (
            Api::OpenAiChat,
            "application/pdf",
            json!({"type": "file", "file": {"filename": "file.pdf", "file_data": "data:application/pdf;base64,aGk="}}),
        ),
        (
            Api::OpenAiResponses,
            "image/png",
            json!({"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="}),
        ),
        (
            Api::OpenAiResponses,
            "text/plain",
            json!({"type": "input_file", "filename": "file.txt", "file_data": "data:text/plain;base64,aGk="}),
        ),
        (
            Api::Anthropic,
            "image/png",
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}),
        ),
        (
            Api::Anthropic,
            "application/pdf",
            json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}}),
        ),
        (
            Api::Anthropic,
            "text/plain",
            json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hi"}}),
        ),
    ] {
        assert_eq!(part(api, media_type, "aGk=").unwrap(), expected);
    }
    for (api, media_type, data, expected) in [
        (
            Api::Anthropic,
            "audio/wav",
            "aGk=",
            "messages[0].blocks[1].media: the API `anthropic` takes JPEG, PNG, GIF, WebP, PDF and plain text only",
        ),
        (
            Api::Anthropic,
            "text/plain",
            "/w==",
            "messages[0].blocks[1].media: the API `anthropic` takes text in UTF-8 only",
        ),
        (
            Api::OpenAiResponses,
            "audio/wav",
            "aGk=",
            "messages[0].blocks[1].media: the API `openai-responses` takes no audio and video",
        ),
    ] {
        assert_eq!(part(api, media_type, data).unwrap_err().to_string(), expected);
    }
}

#[test]
fn what_an_api_lacks_is_refused() {
    let refused = |api: Api, change: Value| {
        let target = Target { model: "m", max_output: 1, streamed: false, options: &ApiOptions::default() };
        api.encode(&with(&change), &target).unwrap_err().to_string()
    };
    assert_eq!(
        refused(Api::OpenAiResponses, json!({"stop": ["."]})),
        "stop: the API `openai-responses` cannot stop at a text"
    );
    assert_eq!(
        refused(Api::Anthropic, json!({"temperature": 1.5})),
        "temperature: the API `anthropic` takes temperatures from 0 to 1"
    );
    assert_eq!(refused(Api::Anthropic, json!({"model": ""})), "model: must not be empty");
}

#[test]
fn the_smaller_bound_of_the_output_holds() {
    let options = ApiOptions { max_tokens_key: MaxTokensKey::MaxTokens, ..ApiOptions::default() };
    for (asked, expected) in [(json!(50), 50), (json!(500), 100), (json!(null), 100)] {
        let target = Target { model: "m", max_output: 100, streamed: false, options: &options };
        let encoded = Api::OpenAiChat.encode(&with(&json!({"max_output": asked})), &target).unwrap();
        let body: Value = serde_json::from_slice(&encoded.body).unwrap();
        assert_eq!(
            (body.get("max_tokens"), body.get("max_completion_tokens")),
            (Some(&json!(expected)), None)
        );
    }
}

#[test]
fn options_add_fields_and_decide_nothing() {
    let encode = |api: Api, extra: Value| {
        let Value::Object(extra) = extra else { panic!("an object") };
        let options = ApiOptions { extra, encrypted_reasoning: false, ..ApiOptions::default() };
        let target = Target { model: "m", max_output: 1, streamed: true, options: &options };
        let request = with(&json!({"output_schema": {"type": "object"}}));
        api.encode(&request, &target)
            .map(|encoded| serde_json::from_slice::<Map<_, Value>>(&encoded.body).unwrap())
    };
    let body =
        encode(Api::Anthropic, json!({"output_config": {"effort": "low"}, "thinking": {"type": "adaptive"}}))
            .unwrap();
    let format = json!({"type": "json_schema", "schema": {"type": "object"}});
    assert_eq!(body["output_config"], json!({"effort": "low", "format": format}));
    assert_eq!(body["thinking"], json!({"type": "adaptive"}));
    let body = encode(Api::OpenAiResponses, json!({"text": {"verbosity": "low"}})).unwrap();
    assert_eq!(body["text"]["verbosity"], "low");
    assert!(!body.contains_key("include"));
    for (api, extra, field) in [
        (Api::OpenAiChat, json!({"n": 2}), "n"),
        (Api::OpenAiChat, json!({"model": "other"}), "model"),
        (Api::OpenAiChat, json!({"max_tokens": 1}), "max_tokens"),
        (
            Api::OpenAiChat,
            json!({"stream_options": {"include_usage": false}}),
            "stream_options.include_usage",
        ),
        (Api::OpenAiResponses, json!({"store": true}), "store"),
        (Api::OpenAiResponses, json!({"text": 1}), "text"),
        (Api::Anthropic, json!({"output_config": {"format": null}}), "output_config.format"),
    ] {
        assert_eq!(encode(api, extra), Err(EncodeError::Reserved { field: field.to_owned() }));
    }
}

#[test]
fn reasoning_of_others_and_what_passes_for_reasoning_are_left_out() {
    let sent = |api: Api, from: &str, item: Value| {
        let blocks = json!([{"reasoning": {"api": from, "item": item}}]);
        let request = with(&json!({"messages": [
            {"role": "assistant", "blocks": blocks},
            {"role": "user", "blocks": [{"text": "a"}]},
        ]}));
        let body = body(api, &request);
        let messages = if api == Api::OpenAiResponses { &body["input"] } else { &body["messages"] };
        messages.as_array().unwrap().len() == 2
    };
    assert!(sent(
        Api::Anthropic,
        "anthropic",
        json!({"type": "thinking", "thinking": "a", "signature": "b"})
    ));
    assert!(sent(Api::Anthropic, "anthropic", json!({"type": "redacted_thinking", "data": "b"})));
    assert!(!sent(
        Api::Anthropic,
        "anthropic",
        json!({"type": "document", "source": {"type": "file", "file_id": "f"}})
    ));
    assert!(!sent(Api::Anthropic, "openai-responses", json!({"type": "thinking", "thinking": "a"})));
    assert!(sent(
        Api::OpenAiResponses,
        "openai-responses",
        json!({"type": "reasoning", "id": "a", "summary": []})
    ));
    assert!(!sent(Api::OpenAiResponses, "openai-responses", json!({"type": "item_reference", "id": "a"})));
    assert!(!sent(Api::OpenAiResponses, "later", json!({"type": "reasoning", "id": "a", "summary": []})));
    assert!(!sent(Api::OpenAiChat, "openai-chat", json!({"role": "system", "content": "b"})));
}

#[test]
fn reasoning_of_chat_servers_is_sent_back_unless_they_refuse_it() {
    let blocks = json!([
        {"reasoning": {"api": "openai-chat", "item": {"reasoning_content": "a", "role": "system", "reasoning": 1}}},
        {"text": "b"},
    ]);
    let request = with(&json!({"messages": [
        {"role": "assistant", "blocks": blocks},
        {"role": "user", "blocks": [{"text": "c"}]},
    ]}));
    for send_reasoning in [true, false] {
        let options = ApiOptions { send_reasoning, ..ApiOptions::default() };
        let target = Target { model: "m", max_output: 1, streamed: false, options: &options };
        let body: Value =
            serde_json::from_slice(&Api::OpenAiChat.encode(&request, &target).unwrap().body).unwrap();
        let mut expected = json!({"role": "assistant", "content": "b"});
        if send_reasoning {
            expected["reasoning_content"] = json!("a");
        }
        assert_eq!(body["messages"][0], expected);
    }
}

#[test]
fn texts_of_other_providers_are_made_fit() {
    let request = with(&json!({"messages": [
        {"role": "assistant", "blocks": [
            {"text": "\n\n"},
            {"tool_call": {"id": "functions.f:0", "name": "no such/tool", "arguments": {}}},
        ]},
        {"role": "user", "blocks": [{"tool_result": {"id": "functions.f:0", "content": "a"}}]},
    ]}));
    let sent = body(Api::Anthropic, &request);
    let call = json!({"type": "tool_use", "id": "functions_2ef_3a0", "name": "no_such_tool", "input": {}});
    assert_eq!(sent["messages"][0]["content"], json!([call]));
    assert_eq!(sent["messages"][1]["content"][0]["tool_use_id"], "functions_2ef_3a0");
    let sent = body(Api::OpenAiChat, &request);
    assert_eq!(sent["messages"][0]["tool_calls"][0]["id"], "functions.f:0");
    assert_eq!(sent["messages"][0]["tool_calls"][0]["function"]["name"], "no_such_tool");
}

#[test]
fn the_input_is_bounded_before_it_is_sent() {
    let options = ApiOptions::default();
    let target = Target { model: "model", max_output: 100, streamed: false, options: &options };
    for api in Api::ALL {
        let bound = |change: &Value| {
            let encoded = api.encode(&with(change), &target).unwrap();
            (encoded.bound_input(700), encoded.body.len() as u64, encoded.media_blocks())
        };
        let (tokens, bytes, _) = bound(&json!({}));
        assert_eq!(tokens, bytes);
        let (tokens, bytes, _) = bound(&json!({"tools": [{"name": "f", "parameters": {}}]}));
        assert_eq!(tokens, bytes + 1024);
        let media = json!({"media": {"media_type": "image/png", "data": "A".repeat(4000)}});
        let (tokens, bytes, files) =
            bound(&json!({"messages": [{"role": "user", "blocks": [media, media]}]}));
        assert_eq!((tokens, files), (bytes - 8000 + 1400, 2));
    }
}

#[test]
fn arguments_that_are_no_object_are_sent_within_one() {
    let request = with(&json!({"messages": [
        {"role": "user", "blocks": [{"text": "a"}]},
        {"role": "assistant", "blocks": [{"tool_call": {"id": "1", "name": "f", "arguments": "{\"a\": "}}]},
        {"role": "user", "blocks": [{"tool_result": {"id": "1", "content": "not JSON", "failed": true}}]},
    ]}));
    request.check().unwrap();
    let wrapped = json!({"invalid_arguments": "{\"a\": "});
    let text = json!(wrapped.to_string());
    let sent = body(Api::Anthropic, &request);
    assert_eq!(sent["messages"][1]["content"][0]["input"], wrapped);
    let sent = body(Api::OpenAiChat, &request);
    assert_eq!(sent["messages"][1]["tool_calls"][0]["function"]["arguments"], text);
    let sent = body(Api::OpenAiResponses, &request);
    assert_eq!(sent["input"][1]["arguments"], text);
}
