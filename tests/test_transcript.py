"""The neutral view of a conversation: what it says of each result, and how it counts."""

from collections.abc import Sequence

from toolprune.transcript import Message, Part, Result, Role, Transcript, Usage


def say(role: Role, text: str) -> Message:
    return Message(role, (Part("text", (text,)),))


def call(call_id: str, tool: str) -> Message:
    return Message("assistant", (Part("call", (tool, "{}"), (), call_id, tool),))


def result(call_id: str, *texts: str, tool: str | None = None) -> Message:
    return Message("tool", (Part("result", texts, (), call_id, tool),))


def told(messages: Sequence[Message]) -> Transcript:
    """A transcript in which every message of the model is a response."""
    transcript = Transcript()
    for message in messages:
        transcript.append(message, begins_response=message.role == "assistant")
    return transcript


def test_an_empty_transcript_holds_nothing() -> None:
    transcript = Transcript()
    assert (transcript.messages, transcript.results, transcript.responses, transcript.turn) == ([], [], [], 0)


def test_a_result_says_where_it_stands_and_what_is_known_of_it() -> None:
    transcript = told([say("system", "s"), say("user", "u"), call("a", "read"), result("a", "héé", "😀")])
    assert transcript.results == [
        Result(
            key=("a", 0),
            position=3,
            place=None,
            call_id="a",
            tool="read",
            code_points=4,
            is_error=False,
            replaced=False,
            responses=1,
            turn=1,
        )
    ]
    assert transcript.responses == [2]


def test_error_and_replacement_are_the_ones_of_the_block() -> None:
    marked = Part("result", ("no",), (), "a", is_error=True, replaced=True, place=0)
    only = told([Message("user", (marked,))]).results[0]
    assert (only.is_error, only.replaced, only.place) == (True, True, 0)


def test_results_of_one_id_are_told_apart_by_occurrence() -> None:
    transcript = told([result("a", "1"), result("b", "2"), result("a", "3"), result("a", "3")])
    assert [each.key for each in transcript.results] == [("a", 0), ("b", 0), ("a", 1), ("a", 2)]


def test_a_result_belongs_to_the_nearest_call_of_its_id_before_it() -> None:
    transcript = told(
        [call("a", "read"), result("a", "1"), call("a", "grep"), result("a", "2"), result("b", "3"), call("b", "bash")]
    )
    assert [each.tool for each in transcript.results] == ["read", "grep", None]


def test_the_name_that_a_result_bears_itself_counts_where_its_call_is_not_there() -> None:
    transcript = told([result("a", "1", tool="read"), call("b", "grep"), result("b", "2", tool="read")])
    assert [each.tool for each in transcript.results] == ["read", "grep"]


def test_a_call_and_its_result_may_stand_in_one_message() -> None:
    both = Message("assistant", (Part("call", ("read", ""), (), "a", "read"), Part("result", ("ok",), (), "a")))
    transcript = told([both])
    assert (transcript.results[0].tool, transcript.results[0].position) == ("read", 0)


def test_a_turn_begins_with_each_message_of_the_user_that_holds_no_result() -> None:
    returned = Message("user", (Part("result", ("ok",), (), "a", place=0), Part("text", ("and now?",))))
    transcript = told([say("user", "1"), result("x", ""), returned, say("user", "2"), result("y", ""), say("user", "")])
    assert [each.turn for each in transcript.results] == [1, 1, 2]
    assert transcript.turn == 3


def test_responses_are_counted_from_where_they_begin() -> None:
    transcript = Transcript()
    transcript.append(result("a", ""), begins_response=False)
    transcript.append(say("assistant", "1"), begins_response=True)
    transcript.append(say("assistant", "still 1"), begins_response=False)
    transcript.append(result("b", ""), begins_response=False)
    transcript.append(say("assistant", "2"), begins_response=True)
    assert transcript.responses == [1, 4]
    assert [each.responses for each in transcript.results] == [0, 1]


def test_the_block_of_a_result_is_found_among_others_of_its_message() -> None:
    parts = (
        Part("text", ("t",)),
        Part("result", ("one",), (), "a", place=1),
        Part("other", others=(9,)),
        Part("result", ("two",), (), "a", place=3),
    )
    transcript = told([Message("user", parts)])
    assert [transcript.part_of(each) for each in transcript.results] == [parts[1], parts[3]]
    lone = told([say("user", "u"), result("a", "whole")])
    assert lone.part_of(lone.results[0]).texts == ("whole",)


def test_a_result_that_is_renamed_pushes_later_ones_of_its_id_on() -> None:
    transcript = told([result("a", "1"), result("b", "2")])
    transcript.rename(0, ("a", 4))
    transcript.append(result("a", "3"), begins_response=False)
    transcript.append(result("b", "4"), begins_response=False)
    assert [each.key for each in transcript.results] == [("a", 4), ("b", 0), ("a", 5), ("b", 1)]
    assert transcript.results[0].code_points == 1


def test_a_result_that_keeps_its_key_leaves_the_count_as_it_was() -> None:
    transcript = told([result("a", "1"), result("a", "2"), result("a", "3")])
    transcript.rename(0, ("a", 0))
    transcript.append(result("a", "4"), begins_response=False)
    assert transcript.results[-1].key == ("a", 3)


def test_the_classes_of_usage_add_up() -> None:
    assert Usage(input_missed=1, input_cached=20, input_written=300, output=4000).total == 4321
    assert Usage().total == 0
