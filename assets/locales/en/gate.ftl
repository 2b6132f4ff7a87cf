# Before anybody is signed in: sign-in, set-up, pages that are not there, and the page without a server.
sign-in = Sign in
sign-in-welcome = Welcome back
sign-in-where = Inglenook at { $host }
# Over the form, where a session ended
ended-signed-out = You were signed out.
ended-disabled = Your account was disabled by an admin. Your chats are kept, and an admin can enable it again.
ended-deleted = Your account was deleted by an admin.
ended-password = Your password was changed, so you were signed out. Sign in with the new one.
sign-in-forgotten = Forgot your password? Ask your admin for a new one.
field-name = Name
field-your-name = Your name
field-password = Password
field-password-length = { $count } characters or more
password-show = Show password
password-hide = Hide password

set-up = Set up
set-up-welcome = Make yourself at home
set-up-about = This first account is the admin’s: it manages people and models. You can add people later.
continue = Continue
set-up-done = All set up already
set-up-done-about = This link was used already: there is an admin’s account. Sign in with it.
set-up-nearly = Nearly there
set-up-wrong-link = That link does not work
set-up-wrong-link-about = It is from an earlier start, or it was cut off.
# <code> stands around an address
set-up-look = Look at the terminal in which Inglenook was started. It shows a link with <code>/setup?token=…</code> at its end. Open the whole link.
set-up-why = The link is new at each start: only someone who sees the terminal can make the first account.

kept-here = Everything is kept on this computer.
kept-at = Everything is kept at { $host }.

lost-title = Nothing here
lost-about = There is no page at this address.
admins-title = For admins only
admins-about = Admins look after models and people, and your account is not one of theirs, or no longer. Ask one of them, if it should be.
broken-title = Something broke here
broken-about = What happened is in Inglenook’s log. Please try again.
back-to-chat = Back to the chat

away-title = Inglenook is away
away-about = { $host } does not answer just now. This page goes on by itself as soon as it does.
away-fine = Your chats are safe there: none is kept in this browser.

missing-title = Something is missing
missing-about = A part of this page was lost on its way. Nothing of yours is: load the page again.
missing-slow-title = Still on its way
missing-slow-about = This page takes longer than usual. Wait a little, or load it again.
missing-again = Load again
