{{/* Refuses values that contradict each other, before anything is installed. */}}
{{- define "podwatch.check" -}}
{{- if and .Values.shardAddr (not .Values.clusterId) -}}
{{- fail "shardAddr is set, but clusterId is empty: name this cluster as its operator does" -}}
{{- end -}}
{{- if and .Values.clusterId (not .Values.shardAddr) -}}
{{- fail "clusterId is set, but shardAddr is empty: name host:port of the shard this cluster belongs to" -}}
{{- end -}}
{{- if and (eq .Values.tls.mode "secret") (not .Values.tls.secret) -}}
{{- fail "tls.mode is secret, but tls.secret is empty: name the secret with the certificate of this cluster" -}}
{{- end -}}
{{- if and (ne .Values.tls.mode "none") (not .Values.shardAddr) -}}
{{- fail "tls.mode is set, but shardAddr is empty: there is no shard to ask with a certificate" -}}
{{- end -}}
{{- end -}}

{{/* Whether the shard is asked about ProvisioningRequests. */}}
{{- define "podwatch.asksShard" -}}
{{- if and .Values.shardAddr .Values.provisioningRequests.enabled -}}true{{- end -}}
{{- end -}}

{{- define "podwatch.account" -}}
{{- .Values.serviceAccount.name | default (include "bigfleet.fullname" .) -}}
{{- end -}}
