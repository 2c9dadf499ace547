# The last thing before the machine stops: copies files to the host, each under a number into the directory that has the tag. Only what is complete gets
# its name, which is what the host looks for. Links are followed, because one that leads elsewhere would do so on the host.
copy_out() {
	directory=/pagewalk/out/$1
	if [ ! -d "$directory" ]; then
		mkdir -p "$directory"
		mount -t virtiofs "$1" "$directory"
	fi
	cp -RL "$3" "$directory/$2.part" 2> "$directory/$2.error" && mv "$directory/$2.part" "$directory/$2"
}
