# The page of everybody who may sign in, for admins; see ui/pages/people.py.
people-about = Who may sign in here, and the keys of their programs.
people-count = { $count ->
    [one] { $count } person
   *[other] { $count } people
}
people-accounts = Accounts
people-show-all = Show all { $count }
people-add = Add a person
people-you = You
people-disabled = Disabled
people-since = Since { $date }
people-seen = Last here { $when }
people-seen-never = Not here yet
people-more = More for { $name }
people-own = Your own settings
people-password = New password
people-make-admin = Make an admin
people-unmake-admin = Take admin rights away
people-disable = Disable
people-enable = Enable
people-delete = Delete

people-name-about = The name they sign in with.
people-role = Role
people-role-user = User
people-role-about = Admins manage people and models, but cannot open other people’s chats.
people-password-about = { $count } characters or more. Left empty, one is made up and shown once.
people-added = { $name } can sign in.
people-password-title = New password for { $name }
people-password-ends = { $name } is signed out everywhere.
people-password-set = Set password
people-password-done = { $name } has a new password.
people-password-once = This password is shown once. Pass it on; in Settings it can be changed.
people-password-made = Password

people-is-admin = { $name } is an admin.
people-is-user = { $name } is no longer an admin.
people-is-disabled = { $name } is disabled, and signed out everywhere.
people-is-enabled = { $name } is enabled, and can sign in again.
people-disable-question = Disable { $name }?
people-disable-about = Signed out everywhere at once, and answers being written stop. API keys sleep, chats stay. You can enable { $name } again.

people-delete-title = Delete { $name }?
people-delete-about = This goes too, for good:
people-delete-chats = { $count ->
    [one] { $count } chat
   *[other] { $count } chats
} with { $messages ->
    [one] { $messages } message
   *[other] { $messages } messages
}
people-delete-prompts = { $count ->
    [one] { $count } prompt or preset
   *[other] { $count } prompts and presets
}
people-delete-keys = { $count ->
    [one] { $count } API key
   *[other] { $count } API keys
}
people-delete-nothing = There are no chats, prompts or keys.
people-delete-instead = To keep the chats and only shut { $name } out, disable the account.
people-delete-type = To be sure, type { $name }
people-delete-yes = Delete for good
people-delete-busy = Deleting
people-deleted = { $name } is deleted.

people-keys-about = Everybody makes their own in Settings.
people-keys-none = No program has a key.
people-key-revoked = The key { $key } is revoked.
people-key-of = of { $name }
