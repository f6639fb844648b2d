"""What settings act on: plans alone, the execution of one statement, or more than that."""

from __future__ import annotations

#: The planner's prices.
COSTS = ("seq_page_cost", "random_page_cost", "cpu_tuple_cost", "cpu_index_tuple_cost", "cpu_operator_cost")
#: Of what they decide, all is in the plan: a statement that keeps its plan keeps its time.
_BY_PLAN_ALONE = frozenset(
    (*COSTS, "parallel_setup_cost", "parallel_tuple_cost", "effective_cache_size", "default_statistics_target")
)
_OF_EXECUTION = frozenset(("work_mem", "hash_mem_multiplier"))


def acts_by_plan_alone(name: str) -> bool:
    """Whether a setting changes the time of a statement by its plan and by nothing else; work_mem, jit do otherwise."""
    return name in _BY_PLAN_ALONE or name.startswith("enable_")


def acts_within_execution(name: str) -> bool:
    """Whether all that a setting does to a statement is in its plan and its execution: nothing at commit, between
    sessions or in the background. What one execution shows is then all of it."""
    return acts_by_plan_alone(name) or name in _OF_EXECUTION
