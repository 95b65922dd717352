"""Greetings, thanks and the like are told from questions, in many languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.small_talk import MAX_CHARS, SmallTalk, recognize, without_small_talk


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("hello", SmallTalk.GREETING),
        ("Hellooo!", SmallTalk.GREETING),
        ("👋 Hi there", SmallTalk.GREETING),
        ("Guten Morgen", SmallTalk.GREETING),
        ("¿Qué tal?", SmallTalk.GREETING),
        ("مرحبا، كيف حالك؟", SmallTalk.GREETING),
        ("你好你好", SmallTalk.GREETING),
        ("สวัสดีค่ะ", SmallTalk.GREETING),
        ("Thanks!", SmallTalk.THANKS),
        ("ok, thank you so much for your help :)", SmallTalk.THANKS),
        ("Vielen Dank für die Hilfe", SmallTalk.THANKS),
        ("Спасибо, понятно", SmallTalk.THANKS),
        ("谢谢你的帮助！", SmallTalk.THANKS),
        ("네, 고마워요", SmallTalk.THANKS),
        ("धन्यवाद", SmallTalk.THANKS),
        ("Teşekkürler", SmallTalk.THANKS),
        ("Thanks, bye!", SmallTalk.THANKS),
        ("Au revoir", SmallTalk.FAREWELL),
        ("ok", SmallTalk.REACTION),
        ("なるほど", SmallTalk.REACTION),
        ("哈哈哈哈", SmallTalk.REACTION),
        ("What can you do?", SmallTalk.ASSISTANT),
        ("Who are you?", SmallTalk.ASSISTANT),
        ("What’s your name?", SmallTalk.ASSISTANT),
        ("help", SmallTalk.ASSISTANT),
        ("Hi there! How can you help me?", SmallTalk.ASSISTANT),
        ("What do you know?", SmallTalk.ASSISTANT),
        ("Thanks. What else can you do?", SmallTalk.ASSISTANT),
        ("Hallo, wer bist du?", SmallTalk.ASSISTANT),
        ("Was kannst du?", SmallTalk.ASSISTANT),
        ("Qu’est-ce que tu peux faire ?", SmallTalk.ASSISTANT),
        ("¿Quién eres?", SmallTalk.ASSISTANT),
        ("Что ты умеешь?", SmallTalk.ASSISTANT),
        ("من أنت؟", SmallTalk.ASSISTANT),
        ("आप क्या कर सकते हैं?", SmallTalk.ASSISTANT),
        ("你好，你能做什么？", SmallTalk.ASSISTANT),
        ("何ができますか？", SmallTalk.ASSISTANT),
        ("넌 누구야?", SmallTalk.ASSISTANT),
        ("คุณทำอะไรได้บ้าง", SmallTalk.ASSISTANT),
        ("谢谢帮助", SmallTalk.THANKS),
        ("?", SmallTalk.WORDLESS),
        ("🙏🏽❤️", SmallTalk.WORDLESS),
        (":-D", SmallTalk.WORDLESS),
        ("", SmallTalk.WORDLESS),
    ],
)
def test_a_message_that_asks_nothing_is_recognized(message: str, kind: SmallTalk) -> None:
    assert recognize(message) is kind


@pytest.mark.parametrize(
    "message",
    [
        "hello world",
        "How do I print hello world?",
        "Hi, when does the office open?",
        "Danke, und wann schließt es?",
        "谢谢卡在哪里",
        "你好酒店几点开门",
        "What is ok?",
        "why?",
        "And in winter?",
        "No, the windmill.",
        "Hello Kitty",
        "help desk",
        "Help with the mooring portal",
        "What can you do with Hugo shortcodes?",
        "What do you know about the fees?",
        "Who are you insured with?",
        "Hi! What can you do when the portal is down?",
        "Was kannst du zu den Gebühren sagen?",
        "Wer ist der Hafenmeister?",
        "Who is she?",
        "你能做什么工作",
        "帮助中心在哪里",
        "good practice",
        "c++",
        "42",
        "R",
        "you",
    ],
)
def test_a_message_with_any_other_word_may_be_a_question(message: str) -> None:
    assert recognize(message) is None


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("Hi, when does the office open? Thanks!", "when does the office open?"),
        ("Thanks! And when does it close?", "And when does it close?"),
        ("谢谢，咖啡馆在哪里？", "咖啡馆在哪里？"),
        ("Danke, und wann schließt es?", "und wann schließt es?"),
        ("What is in ok.py?", "What is in ok.py?"),
        ("hello", "hello"),
        ("Hi! What can you do, if the door is locked?", "What can you do, if the door is locked?"),
    ],
)
def test_a_question_is_freed_from_small_talk(message: str, question: str) -> None:
    assert without_small_talk(message) == question


@given(st.text(max_size=300))
def test_any_text_is_read(message: str) -> None:
    assert recognize(message) is None or len(message) <= MAX_CHARS
    assert without_small_talk(message) in message
