"""Plain prose for workloads in which words matter: chats, edits and summaries. Written for this, of even length."""

from __future__ import annotations

PARAGRAPHS = (
    "The harbour wakes before the town does. At four in the morning the first boats come in with their lamps "
    "still burning, and the gulls are already waiting on the wall. The fishermen sort the catch by size, throw "
    "back what is too small, and carry the boxes up the wet steps to the market hall. By six the buyers have "
    "gone, the floor has been washed with sea water, and nothing is left of the night's work but a few silver "
    "scales between the stones.",
    "A good loaf needs four things and a fifth that cannot be bought: flour, water, salt, yeast, and time. Mix "
    "the first four in the evening until no dry flour is left, cover the bowl with a cloth, and leave it alone "
    "until morning. The dough will have doubled and smell faintly of apples. Fold it twice, shape it without "
    "pressing out the air, let it rest for an hour, and bake it in a very hot oven until the crust is dark and "
    "sounds hollow when it is tapped.",
    "The library on Mill Street was built by the weavers' guild and paid for with pennies. Every member gave "
    "one a week for eleven years, and when the doors were opened there were more readers than chairs. The "
    "reading room faces north, so that the light is even all day and no page is bleached by the sun. The oldest "
    "book in it is a manual of dyes, stained with indigo, in which somebody has noted in the margin which of "
    "the recipes do not work.",
    "Before a bridge is opened it is loaded with more than it will ever have to carry. Lorries full of gravel "
    "are parked on it nose to tail, and engineers with small mirrors and lamps measure by how much the deck "
    "sinks. Then the lorries drive away, and the deck must come back to where it was, to the width of a pencil "
    "line. A bridge that stays bent has told its builders something, and they had better listen before the "
    "first train arrives.",
    "The meeting began ten minutes late because the projector would not start. Anna reported that the move to "
    "the new office is planned for the second week of March and that the lease of the old one ends in April, so "
    "there is no hurry. Boris asked who will pay for the second set of keys. It was agreed that each department "
    "orders its own. The next meeting is on Thursday at nine, in the small room on the third floor, and this "
    "time without a projector.",
    "Bees do not sleep through the winter. They gather in a ball the size of a melon, with the queen in its "
    "middle, and shiver to keep warm. The outer ones slowly work their way in and the inner ones out, so that "
    "nobody freezes. A colony eats about fifteen kilograms of honey between October and March. A beekeeper who "
    "takes too much in August must give sugar back in September, and one who opens the hive in January to see "
    "how they are may lose them all.",
    "The night train leaves at ten past nine and reaches the border a little after two. Passengers are asked to "
    "keep their tickets and passports on the small table beside the window, so that the guard need not wake "
    "them. There is hot tea in the last carriage until midnight and again from five o'clock. In the morning the "
    "mountains are on the left-hand side; whoever wants to see the viaduct should be up by half past six and "
    "stand in the corridor.",
    "Our neighbour repairs clocks. His workshop is so small that he can reach every tool without getting up, "
    "and so full that a stranger would not find a chair. He says that most clocks stop for one of three "
    "reasons: dust, old oil, or a child. The first two he can mend in an afternoon. For the third he has a box "
    "of spare hands, springs and keys, and an old alarm clock without a glass that he lends to the child, to be "
    "taken apart for good.",
)

QUESTIONS = (
    "What happens first, and what happens last? Answer in two sentences, and say which of the two matters more.",
    "Which detail of it would you leave out, if it had to be one sentence shorter? Say why, and give the "
    "shorter version.",
    "Who are the people in it, and what does each of them do? Make a short list with one line for each of them.",
    "Write the next paragraph in the same tone. It should take place one week later, in the same place, in bad "
    "weather.",
    "Explain it to a child of six who has never heard of any of this. Use short words, and one example from a "
    "kitchen.",
    "What is the most surprising fact in it, and how could somebody check on a single afternoon whether it is "
    "true?",
)

SWAPS = (
    ("gulls", "herons"), ("apples", "pears"), ("indigo", "ink"), ("gravel", "sand"),
    ("projector", "heating"), ("melon", "football"), ("tea", "coffee"), ("chair", "stool"),
)       # a word of each paragraph, and what it is to be replaced by
