//! The tools, and their server.

use crate::arguments::{Args, Check, Compare, Explain, Score, Sim};
use crate::child::{Answer, Limits, call};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock};
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Parts of a run's answer that may be long, and that `check` and `explain` provide.
const LONG: &[&str] = &["tasks"];

/// keel as tools.
#[derive(Clone)]
struct Tools {
    limits: Arc<Limits>,
    /// One call at a time, so that the limits apply to all calls together.
    turn: Arc<Semaphore>,
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Tools {
    fn new(limits: Limits) -> Self {
        Self { limits: Arc::new(limits), turn: Arc::new(Semaphore::new(1)), tool_router: Self::tool_router() }
    }

    #[tool(
        description = "Run a Linux CPU scheduler (sched_ext) on a simulated machine and judge what it did. \
                          Returns figures and findings as JSON; the same arguments give the same run."
    )]
    async fn sim(&self, Parameters(sim): Parameters<Sim>) -> CallToolResult {
        match sim.args() {
            Ok(args) => self.answer(args).await,
            Err(why) => result(Answer { text: why, failed: true }),
        }
    }

    #[tool(
        description = "Run several schedulers on the same simulated machine and workload, with several seeds."
    )]
    async fn compare(&self, Parameters(compare): Parameters<Compare>) -> CallToolResult {
        self.answer(compare.args()).await
    }

    #[tool(
        description = "Judge a scheduling trace recorded by keel, perf or trace-cmd: cores that idled while \
                          tasks waited, starvation, long delays."
    )]
    async fn check(&self, Parameters(check): Parameters<Check>) -> CallToolResult {
        self.answer(check.args()).await
    }

    #[tool(description = "Explain why a task of a trace waited: its longest waits, event by event.")]
    async fn explain(&self, Parameters(explain): Parameters<Explain>) -> CallToolResult {
        self.answer(explain.args()).await
    }

    #[tool(
        description = "Score a scheduler on a suite of workloads and machines: one number (100 is as good as \
                          the baseline), its parts and its noise."
    )]
    async fn score(&self, Parameters(score): Parameters<Score>) -> CallToolResult {
        self.answer(score.args()).await
    }

    async fn answer(&self, args: Args) -> CallToolResult {
        // It is never closed.
        let _turn = self.turn.acquire().await;
        result(call(&self.limits, args).await)
    }
}

#[tool_handler(router = self.tool_router, name = "keel", version = "0.1.0")]
impl ServerHandler for Tools {}

fn result(answer: Answer) -> CallToolResult {
    let content = vec![ContentBlock::text(short(answer.text))];
    match answer.failed {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    }
}

/// Returns the answer without long lists. Text that is not JSON is unchanged.
fn short(text: String) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(&text) else { return text };
    shorten(&mut value);
    value.to_string()
}

fn shorten(value: &mut Value) {
    if let Value::Object(members) = value {
        for name in LONG {
            members.remove(*name);
        }
        if let Some(Value::Array(runs)) = members.get_mut("runs") {
            runs.iter_mut().for_each(shorten);
        }
    }
}

/// Serves the tools on stdin and stdout until stdin ends.
///
/// # Errors
/// The other side does not speak the protocol.
pub fn serve(limits: Limits) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| format!("no threads: {e}"))?;
    runtime.block_on(async {
        let served = Tools::new(limits).serve(rmcp::transport::stdio()).await;
        let served = served.map_err(|e| format!("the other side does not speak MCP: {e}"))?;
        served.waiting().await.map(drop).map_err(|e| format!("serving ended: {e}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_left_out() {
        let check = |text: &str, expected: &str| assert_eq!(short(text.to_owned()), expected);
        check(r#"{"tasks":[1],"a":1}"#, r#"{"a":1}"#);
        check(r#"{"runs":[{"tasks":[1],"seed":1}]}"#, r#"{"runs":[{"seed":1}]}"#);
        check("text", "text");
    }
}
