# Of the model hub, of downloads, and of models in other apps: what went wrong or is waited for. See app/hub, app/services/downloads.py.
hub-off = The model hub is switched off here (hub_offline, or HF_HUB_OFFLINE).
hub-circle = The model hub sends us in a circle. Try again later.
hub-elsewhere = The model hub sends us to another host, where none is due. Check hub_endpoint.
hub-endless = The model hub's answer has no end. Try again later.
hub-no-repository = '{ $repo }' is no repository. Write it as owner/name.
hub-what = it
hub-gated = { $what } is gated: its makers want to know who uses it. Accept their terms on its page at the hub, and enter a token of that account here (inglenook models token).
hub-refused = The hub does not let us have { $what }: it does not exist, is private, or wants a token. Check its name, and enter a token (inglenook models token).
hub-not-found = The hub has no { $what }, or not this version or file of it. Check the name.
hub-busy = The model hub has too much to do. Try again in a while.
hub-busy-for = The model hub has too much to do. It asks to wait { $seconds } s.
hub-error = The model hub answers with an error ({ $status }). Try again later.
hub-silent = { $host } does not answer. Check this machine's network, or try again later.
hub-unreachable = { $host } cannot be reached. Check this machine's network; all else here works without it.
hub-breaks-off = { $host } breaks off, or answers what is no HTTP. Try again later; if a proxy stands in between, check that one.
hub-certificate-unknown = { $host } shows a certificate that nobody this machine trusts has signed, so nothing was asked of it. If an authority of your own is meant to sign it, give that one's certificate by SSL_CERT_FILE and start Inglenook anew; else somebody stands in between.
hub-certificate-date = { $host } shows a certificate that is not valid today, so nothing was asked of it. See that this machine's date is right; if it is, whoever keeps that host must renew it.
hub-certificate-name = { $host } shows a certificate of another host, so nothing was asked of it. Check hub_endpoint; if it is right, somebody stands in between.
hub-certificate = { $host } shows a certificate that cannot be accepted, so nothing was asked of it. Whoever keeps that host must replace it.
hub-no-web-address = The model hub sends us to what is no web address ({ $kind }:…). It was not followed. Check hub_endpoint, or ask whoever keeps that hub.
hub-odd = The model hub did not answer with { $wanted }. Check hub_endpoint, or try again later.
hub-wanted-list = a list of models
hub-wanted-page = what there is to know of { $repo }
hub-wanted-commit = a commit
hub-wanted-json = JSON
hub-no-token = This is no token: copy it once more from the hub's settings.

hub-expired = The address of { $file } has expired. Resume the download.
hub-sent-away = The source sends us somewhere else in the middle of a file. Try again later.
hub-compressed = The source of { $file } sends it compressed, unasked.
hub-whole-file = The source of { $file } sends the whole file where a part was asked for.
hub-other-part = The source of { $file } sends another part than was asked for.
hub-source-error = The source of { $file } answers with { $status }. Try again later.
hub-unencrypted = The model hub sends us to an address without encryption. It was not followed.
hub-changed = { $file } is not the file any more that was begun: it was replaced at its source. Resume, and the new one is downloaded from its beginning.
hub-wrong-content = { $file } came whole, but its content is not what the hub promised, so it was thrown away. Resume to fetch it anew; if that happens again, its source or the way to it is broken.
hub-next-attempt = { $reason } (Next attempt in { $seconds } s.)
hub-cut = The connection ended in the middle of { $file }. Resume the download.
hub-header-cut = The connection ended in the middle of a header. Try again.
hub-long-header = { $file } has a header of more than { $size } MiB.
hub-no-gguf = { $label } of { $repo } is no GGUF: only of those it is known beforehand whether they fit.
hub-no-model-file = { $repo } holds no model file in a format that is read here: no GGUF and no safetensors.
hub-no-variant = { $repo } has no '{ $wanted }'. It has: { $known }.
hub-incomplete = { $repo } is incomplete: { $file }{ $more ->
    [0] {""}
   *[other] {" "}and { $more } more
 } is missing there. Choose another file or repository.

disk-no-room = There is no room: { $needed } are still to come, { $kept } of the disk stay free, and { $free } are free in { $folder }. Free { $lacking } and try again.
disk-no-room-beside = There is no room: { $needed } are still to come, { $promised } are promised to other downloads, { $kept } of the disk stay free, and { $free } are free in { $folder }. Free { $lacking } and try again.
disk-full = The disk of { $folder } is full. Free some space, then resume: nothing is lost.
disk-nearly-full = The disk of { $folder } is full ({ $free } are left of { $kept } that stay free). Free some space, then resume: nothing is lost.

download-none = There is no such download.
download-needs-torch = { $label } of { $repo } needs PyTorch, which is not installed here: pip install 'inglenook[gpu]'. Or take a GGUF file of the same model.
download-not-under-way = { $label } of { $repo } is not being downloaded now.
download-not-stopped = { $label } of { $repo } neither pauses nor has failed.
download-unusable = It came whole and unharmed, but cannot be used: { $detail }
download-by-other = Another Inglenook is downloading into this data folder. Wait for its end, or end it.
download-waits-for-start = Goes on when Inglenook runs, or when it is pulled again.
download-waits-for-hours = Waits for the hours in which downloads may run, { $hours }.
download-waits-for-process = Waits for another Inglenook that is downloading into the same data folder.
download-waits-for-others = Waits until another download is done.
download-not-written = The files cannot be written: { $detail }. Correct that, then resume.
download-broke = Something went wrong inside Inglenook; its log says what. Resume to try again.
download-not-removed = What came of it cannot be removed: { $detail }. Correct that, then try again.
download-rules = Write hours as 22:00-06:00, and a limit of at least 1,024 bytes a second.
download-rules-known = There are the rules layout, bytes_per_s and hours.

found-part-missing = { $file } is missing.
found-gone = { $path } is gone.
found-no-gguf = Its weights are in no GGUF file.
found-not-whole = { $app } has not downloaded it whole.
found-adapter = It has an adapter over it. Add both files by their paths, with --lora.
found-it = It
found-unfit = { $detail }

speed-by-answers = Measured from the latest { $count } answers it has written here.
speed-by-run = Measured here, one question at a time.
speed-by-bandwidth = Estimated from the weights read for each token and this machine’s memory, measured at { $bandwidth } GB/s.
speed-by-card = Estimated from the weights read for each token and the memory of { $card }, measured at { $bandwidth } GB/s.
speed-by-others = Estimated from the weights read for each token and this machine’s memory, measured at { $bandwidth } GB/s; corrected by the answers of { $count ->
    [one] { $count } model
   *[other] { $count } models
 } here.

update-not-of-hub = { $model } was not downloaded from the hub: there is nothing to compare it with.
